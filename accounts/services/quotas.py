"""Checks of quotas: whether an account or a user may have one more object of a kind.

A service that adds an object first locks the row of the owner and then counts. Of two requests that add the last
one, the second then counts the object of the first.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from accounts.actors import Actor
from accounts.models import Account, User
from accounts.quotas import QUOTAS
from accounts.services.account import lock_account
from config.errors import Invalid, Problems


def most_of(name: str, own: Mapping[str, int]) -> int:
    """Return the quota of this name, given the quotas that staff set for the account."""
    return own.get(name, getattr(settings, QUOTAS[name].setting))


def most_for(account_id: int, name: str) -> int:
    """Return the quota of this name for the account with this id."""
    own = Account.objects.filter(pk=account_id).values_list("quotas", flat=True).first()
    return most_of(name, own or {})


def check_quota(actor: Actor, name: str, rows: QuerySet[Any], problems: Problems | None = None) -> None:
    """Refuse one more row if the actor's account has used up its quota of this name. `rows` are its existing rows.

    Call it in the transaction that adds the row, before it locks anything but users: the account stays locked. It
    adds the reason to `problems`. Without `problems`, it raises `Invalid` without a field.
    """
    compare(name, lock_account(actor.account_id).quotas, rows, problems)


def check_users_quota(user_id: int, name: str, rows: QuerySet[Any], problems: Problems | None = None) -> None:
    """Check a quota of a user, whose row is locked, by the quotas of its account. Staff have no account."""
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    compare(name, user.account.quotas if user.account else {}, rows, problems)


def compare(
    name: str, own: Mapping[str, int], rows: QuerySet[Any], problems: Problems | None = None, more: int = 1
) -> None:
    """Check a quota for a caller whose own lock keeps others from adding rows.

    `own` are the account's quotas, `more` is the number of rows to be added.
    """
    most = most_of(name, own)
    if rows.count() + more > most:
        reason = QUOTAS[name].reason(most)
        if problems is None:
            raise Invalid(reason)
        problems.add(None, reason)
