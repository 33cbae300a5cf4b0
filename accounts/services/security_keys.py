"""Security keys (WebAuthn): a second factor in place of a code. No other site can ask for it.

Keys are an addition to the authenticator app, whose scratch code helps if a key is lost. They are deleted when the
second factor is turned off.
"""

from dataclasses import dataclass

import webauthn
from django.db import transaction
from django.utils.timezone import now
from webauthn.helpers import parse_authentication_credential_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.actors import Actor
from accounts.models import SecurityKey, User
from accounts.services import outbox
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from config.errors import Invalid, Missing

SITE_NAME = "Skerry"
MAX_KEYS = 10
"""The maximum number of keys of a user."""
TOO_MANY = f"A user has at most {MAX_KEYS} security keys: remove one first."
FACTOR_FIRST = "Turn on the second factor first. Its scratch code lets you sign in if you lose the key."
WRONG = "The key's answer could not be accepted. Try again."
KNOWN = "This key is registered already."


@dataclass(frozen=True, slots=True)
class Site:
    """The site that keys answer: its host name, and the `origin` (``https://name``) of its pages."""

    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Question:
    """The request of a page to a key: the `options` for the browser, in JSON, and the `challenge` in them.

    The answer must contain the challenge.
    """

    options: str
    challenge: bytes


def keys_of(user: User) -> list[SecurityKey]:
    """Return the keys that `user` can sign in with: none while the second factor is off. One query."""
    return list(SecurityKey.objects.filter(user=user, user__two_factor_auth=True))


def ask_to_register(user: User, site: Site) -> Question:
    """Return the request with which `user` registers another key."""
    options = webauthn.generate_registration_options(
        rp_id=site.name,
        rp_name=SITE_NAME,
        user_id=str(user.pk).encode(),
        user_name=user.username,
        exclude_credentials=_descriptors(user),
        # After a password, possession of the key is enough: a PIN would be a third factor.
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.DISCOURAGED,
            user_verification=UserVerificationRequirement.DISCOURAGED,
        ),
    )
    return Question(webauthn.options_to_json(options), options.challenge)


def ask_to_sign_in(user: User, site: Site) -> Question:
    """Return the request that one of the user's keys answers in place of a code."""
    options = webauthn.generate_authentication_options(
        rp_id=site.name,
        allow_credentials=_descriptors(user),
        user_verification=UserVerificationRequirement.DISCOURAGED,
    )
    return Question(webauthn.options_to_json(options), options.challenge)


def add(actor: Actor, site: Site, challenge: bytes, answer: str, name: str) -> SecurityKey:
    """Register the key that gave `answer` (JSON) to `ask_to_register`. A mail tells the user.

    Raises `Invalid` without a field if the answer does not fit the request or the key is known. It also does if the
    user has the maximum number of keys, or the second factor is off.
    """
    try:
        found = webauthn.verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site.name,
            expected_origin=site.origin,
        )
    except Exception as error:  # a stranger's CBOR is wrong in more ways than the library has errors
        raise Invalid(WRONG) from error
    with transaction.atomic():
        # Locked while its keys are counted, and before its second factor can be turned off.
        user = User.objects.select_for_update(no_key=True).get(pk=actor.person)
        if not user.two_factor_auth:
            raise Invalid(FACTOR_FIRST)
        if SecurityKey.objects.filter(user=user).count() >= MAX_KEYS:
            raise Invalid(TOO_MANY)
        key, is_new = SecurityKey.objects.get_or_create(
            credential=found.credential_id,
            defaults={
                "user": user,
                "name": name,
                "public_key": found.credential_public_key,
                "sign_count": found.sign_count,
            },
        )
        if not is_new:
            raise Invalid(KNOWN)
        if user.account_id is not None:  # staff are on no account, so they have no events
            record_event(actor, "profile_update", profile_ref(user), message=f"The security key {name} was added.")
        outbox.warn(user, "security_key_added", {"name": name})
    return key


@transaction.atomic
def remove(actor: Actor, key: SecurityKey) -> None:
    """Delete the key. Codes of the app still work. Raises `Missing` if another request was first.

    `actor` is the key's user, or staff.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=key.user_id)
    deleted, _ = SecurityKey.objects.filter(pk=key.pk).delete()
    if not deleted:
        raise Missing
    if user.account_id is not None:
        message = f"The security key {key.name} was removed."
        record_event(actor, "profile_update", profile_ref(user), message=message)


def accept(user: User, site: Site, challenge: bytes, answer: str) -> bool:
    """Tell whether `answer` (JSON) to `ask_to_sign_in` comes from one of the user's keys and is accepted.

    The counter of a key that counts must have grown. Of two requests with the same answer, one is accepted.
    """
    try:
        credential = parse_authentication_credential_json(answer)
    except Exception:  # noqa: BLE001 - wrong in as many ways as in `add`
        return False
    rows = SecurityKey.objects.filter(user=user, user__two_factor_auth=True)
    key = rows.filter(credential=credential.raw_id).first()
    if key is None:
        return False
    try:
        found = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.name,
            expected_origin=site.origin,
            credential_public_key=bytes(key.public_key),
            credential_current_sign_count=key.sign_count,
        )
    except Exception:  # noqa: BLE001 - as in `add`
        return False
    mine = SecurityKey.objects.filter(pk=key.pk, sign_count=key.sign_count)
    return bool(mine.update(sign_count=found.new_sign_count, last_used=now()))


def _descriptors(user: User) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=bytes(key.credential)) for key in keys_of(user)]
