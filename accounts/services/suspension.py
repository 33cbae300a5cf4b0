"""Suspends and restores accounts and users. For staff."""

from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account, ResourceUse, User
from accounts.services.access import end_sessions, lock_users
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.refs import account_ref, user_ref
from config.db.rows import write
from config.errors import Invalid


@transaction.atomic
def set_account_active(actor: Actor, account: Account, active: bool, reason: str = "") -> None:
    """Activate or suspend an account. Tokens and users of a suspended account are answered 401. Its instances keep
    running.

    Suspending ends all sessions of the users for good, and forgets their browsers. Tokens work again later. A
    closed account can be suspended too: support then reads the reason before it opens the account.

    Activating also opens an account that one of its users has closed. Raises `Invalid` if the account is in that
    state already. Writes ``account_update``, with the reason.
    """
    users = lock_users(account.pk)
    locked = lock_account(account.pk)
    if locked.standing == _state(active):
        raise Invalid(f"The account is {locked.standing} already.")
    if not active:
        end_sessions(users)
    values = {"is_active": active, "closed": None, "closed_by": "", "closing_comment": ""}
    write(account, values)
    ResourceUse.objects.filter(pk=account.pk, closed=True).update(closed=False)
    record_event(actor, "account_update", account_ref(account), message=_sentence("account", active, reason))


@transaction.atomic
def set_user_active(actor: Actor | None, user: User, active: bool, reason: str = "") -> None:
    """Activate or suspend one user, as `set_account_active` does. Suspending ends its sessions for good too.

    Writes ``user_update`` if the user has an account.
    """
    if not User.objects.filter(pk=user.pk).exclude(is_active=active).update(is_active=active):
        raise Invalid(f"The user is {_state(active)} already.")
    user.is_active = active
    if not active:
        end_sessions([user.pk])
    if actor is not None:
        record_event(actor, "user_update", user_ref(user), message=_sentence("user", active, reason))


def _sentence(noun: str, active: bool, reason: str) -> str:
    return f"The {noun} is {_state(active)}{f': {reason}' if reason else '.'}"


def _state(active: bool) -> str:
    return "active" if active else "suspended"
