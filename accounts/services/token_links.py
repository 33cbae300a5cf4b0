"""Links that show a new token once: how staff and operators hand a token over without seeing it.

A link has a key, which is in its address alone: the database has its digest. The token comes into being when the
link is used, so that nothing readable waits anywhere.
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

BYTES = 32
AT_ONCE = 20
"""The most links of one user that are good at the same moment."""
TOO_MANY = f"The user has {AT_ONCE} such links already. Take some of them back first."


@transaction.atomic
def make_link(
    actor: Actor,
    user: User,
    label: str | None,
    scopes: str = "*",
    expiry: datetime | None = None,
    reason: str = "",
) -> tuple[TokenLink, str]:
    """Make a link to a token of `user`, and return it with its address, which nobody can read again. For staff.

    `label`, `scopes` and `expiry` are the token's, checked as by `create_token`. The link is good for
    ``TOKEN_LINK_HOURS``, and no longer than the token. Writes ``profile_update``, with the reason. Raises `Invalid`
    with every failing field, and without one where the user is of no account, or has too many links.
    """
    if user.account_id is None:
        raise Invalid("The user is on no account: a token would be good for nothing.")
    problems = Problems()
    granted = check_token(user, label, scopes, expiry, problems)  # locks the user's row
    if TokenLink.objects.good().filter(user=user).count() >= AT_ONCE:
        problems.add(None, TOO_MANY)
    label = problems.checked(label)
    key = secrets.token_urlsafe(BYTES)
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
    """The link with this key, where it is still good, with its user."""
    return TokenLink.objects.good().select_related("user").filter(digest=_digest(key)).first()


@transaction.atomic
def use_link(key: str) -> tuple[PersonalToken, str]:
    """Make the link's token, and return it with its readable digits. The link is gone with that.

    The event is that of any new token, and names who made the link. Raises `Missing` where the link was used, has
    ended or was taken back, and `Invalid` without a field where the user has as many tokens as it may: the link
    stays.
    """
    link = link_of(key)
    if link is None:
        raise Missing
    maker = Actor(link.user.account_id or 0, username=link.created_by, is_staff=True)
    token, readable = create_token(link.user, link.label, link.scopes, link.token_expiry, maker)
    # after the user's row is locked, by which two who press the button at the same moment stand in line
    if not TokenLink.objects.good().filter(pk=link.pk).delete()[0]:
        raise Missing
    return token, readable


@transaction.atomic
def take_back(actor: Actor, link: TokenLink) -> None:
    """Delete a link that was not used. Writes ``profile_update``. Raises `Missing` where it is gone."""
    if not TokenLink.objects.filter(pk=link.pk).delete()[0]:
        raise Missing
    _record(actor, link.user, f"Support took a link to a token back, {link.label}", "")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _record(actor: Actor, user: User, what: str, reason: str) -> None:
    message = f"{what}: {reason}" if reason else f"{what}."
    record_event(actor, "profile_update", profile_ref(user), message=message)
