"""Personal access tokens: create, rename, revoke."""

import hashlib
import secrets
from datetime import datetime

from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Authorization, OAuthClient, PersonalToken, User
from accounts.scopes import includes, parse_scopes
from accounts.services import quotas
from accounts.services.events import EntityRef, record_event
from accounts.services.refs import profile_ref
from config.errors import Denied, Missing, Problems, wrong_length

TOKEN_BYTES = 32
PREFIX_LENGTH = 16
MAX_LABEL_LENGTH = 100
WRONG_LABEL = wrong_length(1, MAX_LABEL_LENGTH)


@transaction.atomic
def create_token(
    user: User,
    label: str | None,
    scopes: str = "*",
    expiry: datetime | None = None,
    actor: Actor | None = None,
    problems: Problems | None = None,
) -> tuple[PersonalToken, str]:
    """Make a token of `user` and return it with its 64 hex digits, which cannot be read again.

    `actor` is the caller, by default the user itself with all scopes. If the caller is an app, the token belongs to
    the app and ends with the app's access. If `expiry` is later than the app's access, or missing, the token
    expires with the app's access.

    Raises `Invalid` on ``label``, ``scopes`` and ``expiry``, all at once, the `problems` first. Raises `Invalid`
    without a field if the user has used up its quota of tokens. Raises `Denied` if the scopes exceed those of the
    caller's token, or the app's access has just ended. A label that is None failed a check before.
    """
    problems = problems or Problems()
    granted = check_token(user, label, scopes, expiry, problems)
    label = problems.checked(label)
    if actor is not None and not includes(actor.scopes, granted):
        raise Denied("A token can only create tokens within its own scopes.", "scopes")
    app = None if actor is None or actor.client_id is None else _access_of(actor)
    if app is not None and app.expiry is not None:
        expiry = min(app.expiry, expiry or app.expiry)
    readable = secrets.token_hex(TOKEN_BYTES)
    token = PersonalToken.objects.create(
        user=user,
        label=label,
        scopes=" ".join(granted),
        digest=hashlib.sha256(readable.encode()).hexdigest(),
        prefix=readable[:PREFIX_LENGTH],
        expiry=expiry,
        client_id=None if app is None else app.client_id,
    )
    _record(actor, user, "token_create", token_ref(token))
    return token, readable


def check_token(
    user: User, label: str | None, scopes: str, expiry: datetime | None, problems: Problems
) -> tuple[str, ...]:
    """Return the scopes of a token that will be created, in the caller's transaction. Adds errors to `problems`."""
    _check_label(problems, label)
    granted: tuple[str, ...] = ()
    try:
        granted = parse_scopes(scopes)
    except ValueError as error:
        problems.add("scopes", str(error))
    if expiry is not None and expiry <= now():
        problems.add("expiry", "expiry must be in the future")
    quotas.check_users_quota(user.pk, "tokens", PersonalToken.objects.filter(user=user), problems)
    return granted


@transaction.atomic
def rename_token(actor: Actor, token: PersonalToken, label: str | None, problems: Problems | None = None) -> None:
    """Change the label, the only changeable value of a token. None changes nothing.

    Raises `Invalid` on the label, with the `problems` that were found before, and `Missing` if the token is gone.
    """
    problems = problems or Problems()
    _check_label(problems, label)
    problems.raise_any()
    if label is None or label == token.label:
        return
    if not PersonalToken.objects.filter(pk=token.pk).update(label=label):
        raise Missing
    token.label = label
    _record(actor, token.user, "token_update", token_ref(token))


@transaction.atomic
def revoke_token(actor: Actor, token: PersonalToken) -> None:
    """Delete the token: the next request with it answers 401. Raises `Missing` if another request was first."""
    ref, user = token_ref(token), token.user
    deleted, _ = PersonalToken.objects.filter(pk=token.pk).delete()
    if not deleted:
        raise Missing
    _record(actor, user, "token_delete", ref)


def token_ref(token: PersonalToken) -> EntityRef:
    """Return the reference by which events name a token: its label, never a part of the token."""
    return EntityRef("token", token.pk, token.label, f"/v4/profile/tokens/{token.pk}")


def _access_of(actor: Actor) -> Authorization:
    """Return the access of the acting app, locked: it cannot end before the token exists and ends with it.

    The user's row is locked first, as everywhere.
    """
    User.objects.select_for_update(no_key=True).get(pk=actor.person)
    rows = Authorization.objects.active().select_for_update(no_key=True)
    client = OAuthClient.objects.filter(client_id=actor.client_id).values("pk")
    found = rows.filter(user_id=actor.person, client__in=client).first()
    if found is None:
        raise Denied
    return found


def _check_label(problems: Problems, label: str | None) -> None:
    if label is not None and not 1 <= len(label) <= MAX_LABEL_LENGTH:
        problems.add("label", WRONG_LABEL)


def _record(actor: Actor | None, user: User, action: str, token: EntityRef) -> None:
    if user.account_id is None:
        return  # staff are on no account, so they have no events
    actor = actor or Actor(user.account_id, user.pk, user.username)
    # The user sees the event, no matter who caused it.
    of = None if actor.user_id == user.pk else profile_ref(user)
    record_event(actor, action, token, of)
