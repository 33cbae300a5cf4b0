"""Closing an account by its own users. Staff open it again with `accounts.services.suspension`."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.entities import EntityKind, kinds
from accounts.models import Account, ResourceUse, User
from accounts.services.access import end_sessions, lock_users
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.quotas import lock_use
from accounts.services.refs import account_ref
from config.display.plurals import counted
from config.errors import Denied, Invalid

GRANT = "cancel_account"
"""The grant that a restricted user needs to close the account."""

NOT_EMPTY = (
    "All instances, volumes, domains and similar objects of the account must be deleted first. "
    "Unrestricted users see a list of them on this page."
)
"""The reason for restricted users why the account cannot be closed."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """The number of objects of one kind that keep an account open."""

    kind: EntityKind
    number: int

    def __str__(self) -> str:
        return counted(self.number, self.kind.blocks_closing)


def remaining(account_id: int) -> list[Remaining]:
    """Return the objects that must be deleted before the account can be closed, by kind.

    One query for each kind.
    """
    found = (
        Remaining(kind, kind.model._default_manager.filter(account_id=account_id).count())
        for kind in kinds()
        if kind.blocks_closing
    )
    return [each for each in found if each.number]


def refusal_of(actor: Actor, objects: list[Remaining]) -> str:
    """Return the reason why an account with these objects cannot be closed. Empty without any.

    Restricted users may not see all objects, so their reason has no kinds and numbers.
    """
    if not objects:
        return ""
    return NOT_EMPTY if actor.restricted else f"Delete these objects first: {', '.join(map(str, objects))}."


def _may_close(actor: Actor) -> bool:
    """Tell whether the user may close the account now. `actor` has the grants of the request's start.

    The users are locked, so no other transaction takes the grant away until this one ends.
    """
    users = User.objects.filter(pk=actor.person, account_id=actor.account_id, is_active=True)
    return users.filter(Q(restricted=False) | Q(global_grants__cancel_account=True)).exists()


@transaction.atomic
def close_account(actor: Actor, comment: str = "") -> None:
    """Close the actor's account: its users, tokens and apps are answered 401 until staff restore it.

    Sessions end for good, and browsers are forgotten: users sign in again after a restore, with their second
    factors. Writes ``account_update``, with the user's name and `comment`. Raises `Denied` if the user now lacks
    the grant ``cancel_account``, and `Invalid` if the account is not active, or has objects that cost money or
    serve someone.
    """
    # The order of docs/locking.md. A transaction that adds an object locks the account or its counters. So this
    # transaction either waits for the object and finds it below, or the other one finds the account closed.
    users = lock_users(actor.account_id)
    if not _may_close(actor):
        raise Denied
    account = lock_account(actor.account_id)
    lock_use(account.pk)
    if not account.is_active:
        raise Invalid(account.refusal)
    if reason := refusal_of(actor, remaining(account.pk)):
        raise Invalid(reason)
    values = {"closed": now(), "closed_by": actor.username, "closing_comment": comment}
    Account.objects.filter(pk=account.pk).update(is_active=False, **values)
    ResourceUse.objects.filter(pk=account.pk).update(closed=True)
    end_sessions(users)
    message = f"{actor.username} closed the account{f': {comment}' if comment else '.'}"
    record_event(actor, "account_update", account_ref(account), message=message)
