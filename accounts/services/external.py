"""Ties users to identities at the OpenID Connect provider that they sign in with, and unties them.

Only the user's own deliberate act ties a user to an identity. Other claims of the provider never do: an email
address there may belong to anybody.
"""

from django.contrib.auth.tokens import default_token_generator
from django.db import IntegrityError, transaction

from accounts.actors import Actor
from accounts.models import ExternalIdentity, TrustedDevice, User
from accounts.services import outbox
from accounts.services.events import record_event
from accounts.services.refs import profile_ref, user_ref
from accounts.services.users import password_path
from config.errors import Invalid

TAKEN = "Another user signs in as this person already."
TIED = "This user signs in with a provider already."
TOO_LATE = "The link in the mail was already used, or has expired."


def user_of(issuer: str, subject: str) -> User | None:
    """Return the user that is tied to an identity, with its account, or None."""
    return User.objects.select_related("account").filter(
        external_identity__issuer=issuer, external_identity__subject=subject
    ).first()  # fmt: skip


def identity_of(user: User) -> ExternalIdentity | None:
    """Return the identity that the user is tied to, or None."""
    return ExternalIdentity.objects.filter(user=user).first()


@transaction.atomic
def tie(
    user: User,
    issuer: str,
    subject: str,
    *,
    label: str,
    provider: str,
    authentication_type: str,
    token: str | None = None,
) -> User:
    """Make the user sign in with a provider from now on, and without a password. Return the updated user.

    `label` is the person's name at the provider, and `provider` the provider's name for people. `token` is the
    token of a mailed address for setting a password, if the user came by one. Ends the user's sessions and forgets
    its browsers, as a new password does, and mails the user.

    Raises `Invalid` if the user is tied already, another user is tied to this identity, or the token is no longer
    valid.
    """
    # Of two requests that tie one user, the second waits here. It then finds the user tied, or the token used.
    user = User.objects.select_for_update().get(pk=user.pk)
    if token is not None and not default_token_generator.check_token(user, token):
        raise Invalid(TOO_LATE)
    if user.authentication_type != User.PASSWORD:
        raise Invalid(TIED)
    try:
        with transaction.atomic():
            ExternalIdentity.objects.create(user=user, issuer=issuer, subject=subject, label=label)
    except IntegrityError as error:
        # If two users tie one identity at once, the constraint admits one.
        raise Invalid(TAKEN) from error
    _change(user, authentication_type)
    outbox.mail(user, "external_tied", {"provider": provider, "label": label})
    if user.account_id is not None:
        actor = Actor(user.account_id, user.pk, user.username, user.restricted)
        record_event(actor, "profile_update", profile_ref(user), message=f"The user now signs in with {provider}.")
    return user


@transaction.atomic
def ask_for_password(user: User) -> None:
    """Send a mail with an address at which a user of the provider can choose a password instead.

    Until the user chooses one, nothing changes. Raises `Invalid` if the user has a password already.
    """
    if user.authentication_type == User.PASSWORD:
        raise Invalid("This user already signs in with a password.")
    outbox.mail(user, "password_instead", {"path": password_path(user)})


@transaction.atomic
def untie(actor: Actor | None, user: User) -> str:
    """Untie the user from the provider at once, for staff. Return the path of the address that is mailed.

    The user's sessions end. The mail has an address at which to choose a password. `actor` is None for a user
    without an account. Raises `Invalid` if the user is not tied.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    if user.authentication_type == User.PASSWORD:
        raise Invalid("This user already signs in with a password.")
    forget(user)
    _change(user, User.PASSWORD)
    path = password_path(user)
    outbox.mail(user, "password_instead", {"path": path})
    if actor is not None:
        record_event(actor, "user_update", user_ref(user), message="The user now signs in with a password.")
    return path


def forget(user: User) -> None:
    """Untie a user whose password was set in the caller's transaction: it signs in with the password from now
    on.
    """
    ExternalIdentity.objects.filter(user=user).delete()
    if user.authentication_type != User.PASSWORD:
        user.authentication_type = User.PASSWORD
        user.save(update_fields=["authentication_type"])


def _change(user: User, authentication_type: str) -> None:
    """Set an unusable password. This ends sessions and mailed addresses: both contain a part of the old hash."""
    user.authentication_type = authentication_type
    user.set_unusable_password()
    user.save(update_fields=["authentication_type", "password"])
    TrustedDevice.objects.filter(user=user).delete()
