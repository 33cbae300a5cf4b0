"""Links that show a new token once. Staff and operators hand a token over with them, without seeing it.

A link's key is only in its address: the database stores its digest. The token is created when the link is used, so
that no readable token is stored anywhere.
"""

import hashlib
import secrets
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import PersonalToken, TokenLink, User
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from accounts.services.tokens import check_token, create_token
from config.errors import Invalid, Missing, Problems

SECRET_BYTES = 32
MAX_LINKS = 20
"""The maximum number of valid links of one user at the same time."""
TOO_MANY = f"The user has {MAX_LINKS} unused links to tokens. Revoke some of them first."


@transaction.atomic
def make_link(
    actor: Actor,
    user: User,
    label: str | None,
    scopes: str = "*",
    expiry: datetime | None = None,
    reason: str = "",
) -> tuple[TokenLink, str]:
    """Make a link to a token of `user`. Return it with its address, which cannot be read again. For staff.

    `label`, `scopes` and `expiry` are the token's, checked as by `create_token`. The link is valid for
    ``TOKEN_LINK_HOURS``, and no longer than the token. Writes ``profile_update``, with the reason. Raises `Invalid`
    with every failing field, and without one if the user is on no account, or has too many links.
    """
    if user.account_id is None:
        raise Invalid("The user has no account. A token needs an account.")
    problems = Problems()
    granted = check_token(user, label, scopes, expiry, problems)  # locks the user's row
    if TokenLink.objects.good().filter(user=user).count() >= MAX_LINKS:
        problems.add(None, TOO_MANY)
    label = problems.checked(label)
    key = secrets.token_urlsafe(SECRET_BYTES)
    end = now() + settings.TOKEN_LINK_GOOD
    link = TokenLink.objects.create(
        user=user,
        digest=_digest(key),
        label=label,
        scopes=" ".join(granted),
        token_expiry=expiry,
        created_by=actor.username,
        expiry=end if expiry is None else min(end, expiry),
    )
    _record(actor, user, f"Support made a link to a token, {label}", reason)
    return link, settings.SITE_URL + reverse("token-link", args=[key])


def link_of(key: str) -> TokenLink | None:
    """Return the link with this key, with its user, if it is still valid."""
    return TokenLink.objects.good().select_related("user").filter(digest=_digest(key)).first()


@transaction.atomic
def use_link(key: str) -> tuple[PersonalToken, str]:
    """Make the link's token. Return it with its readable digits. The link is deleted.

    The event is the same as for any new token, and names the author of the link. Raises `Missing` if the link was
    used, has expired or was taken back. Raises `Invalid` without a field if the user has used up its quota of
    tokens. Then the link stays.
    """
    link = link_of(key)
    if link is None:
        raise Missing
    maker = Actor(link.user.account_id or 0, username=link.created_by, is_staff=True)
    token, readable = create_token(link.user, link.label, link.scopes, link.token_expiry, maker)
    # After the user's row is locked: two people who press the button at the same moment wait for this lock.
    if not TokenLink.objects.good().filter(pk=link.pk).delete()[0]:
        raise Missing
    return token, readable


@transaction.atomic
def take_back(actor: Actor, link: TokenLink) -> None:
    """Delete an unused link. Writes ``profile_update``. Raises `Missing` if it is gone."""
    if not TokenLink.objects.filter(pk=link.pk).delete()[0]:
        raise Missing
    _record(actor, link.user, f"Support took a link to a token back, {link.label}", "")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _record(actor: Actor, user: User, what: str, reason: str) -> None:
    message = f"{what}: {reason}" if reason else f"{what}."
    record_event(actor, "profile_update", profile_ref(user), message=message)
