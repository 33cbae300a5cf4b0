"""Personal access tokens: made, renamed, revoked."""

import hashlib
import secrets
from datetime import datetime

from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import PersonalToken, User
from accounts.scopes import includes, parse_scopes
from accounts.services.events import EntityRef, record_event
from config.errors import Denied, Missing, Problems

BYTES = 32
PREFIX_LENGTH = 16
MAX_LABEL_LENGTH = 100
WRONG_LABEL = f"Label must be 1-{MAX_LABEL_LENGTH} characters"


@transaction.atomic
def create_token(
    user: User, label: str, scopes: str = "*", expiry: datetime | None = None, actor: Actor | None = None
) -> tuple[PersonalToken, str]:
    """Make a token of `user` and return it with its 64 hex digits, which nobody can read again.

    `actor` is the caller, by default the user itself with all scopes. Raises `Invalid` on ``label``, ``scopes`` and
    ``expiry``, all at once, and `Denied` where the scopes go beyond those of the caller's token.
    """
    problems = Problems()
    _check_label(problems, label)
    granted: tuple[str, ...] = ()
    try:
        granted = parse_scopes(scopes)
    except ValueError as error:
        problems.add("scopes", str(error))
    if expiry is not None and expiry <= now():
        problems.add("expiry", "expiry must be in the future")
    problems.raise_any()
    if actor is not None and not includes(actor.scopes, granted):
        raise Denied("A token can only create tokens within its own scopes.", "scopes")
    readable = secrets.token_hex(BYTES)
    token = PersonalToken.objects.create(
        user=user,
        label=label,
        scopes=" ".join(granted),
        digest=hashlib.sha256(readable.encode()).hexdigest(),
        prefix=readable[:PREFIX_LENGTH],
        expiry=expiry,
    )
    _record(actor, user, "token_create", token_ref(token))
    return token, readable


@transaction.atomic
def rename_token(actor: Actor, token: PersonalToken, label: str) -> None:
    """Change the label, the one thing about a token that can change. Raises `Invalid` on it, and `Missing` where
    the token is gone."""
    problems = Problems()
    _check_label(problems, label)
    problems.raise_any()
    if label == token.label:
        return
    if not PersonalToken.objects.filter(pk=token.pk).update(label=label):
        raise Missing
    token.label = label
    _record(actor, token.user, "token_update", token_ref(token))


@transaction.atomic
def revoke_token(actor: Actor, token: PersonalToken) -> None:
    """Delete the token: the next request with it answers 401. Raises `Missing` where another request was first."""
    ref, user = token_ref(token), token.user
    deleted, _ = PersonalToken.objects.filter(pk=token.pk).delete()
    if not deleted:
        raise Missing
    _record(actor, user, "token_delete", ref)


def token_ref(token: PersonalToken) -> EntityRef:
    """How events name a token: by its label, never by a part of it."""
    return EntityRef("token", token.pk, token.label, f"/v4/profile/tokens/{token.pk}")


def _check_label(problems: Problems, label: str) -> None:
    if not 1 <= len(label) <= MAX_LABEL_LENGTH:
        problems.add("label", WRONG_LABEL)


def _record(actor: Actor | None, user: User, action: str, token: EntityRef) -> None:
    if user.account_id is None:
        return  # staff are on no account, so they have no events
    record_event(actor or Actor(user.account_id, user.pk, user.username), action, token)
