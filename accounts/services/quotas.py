"""Comparing with quotas: whether an account or a user may have one more of a thing.

Whoever adds one locks the row of the owner first and counts then, so that of two requests that add the last one the
second counts the first one's.
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
    """The quota of this name, given those that staff gave the account itself."""
    return own.get(name, getattr(settings, QUOTAS[name].setting))


def most_for(account_id: int, name: str) -> int:
    """As `most_of`, of an account by its id."""
    own = Account.objects.filter(pk=account_id).values_list("quotas", flat=True).first()
    return most_of(name, own or {})


def check_quota(actor: Actor, name: str, rows: QuerySet[Any], problems: Problems | None = None) -> None:
    """Refuse one more row where the actor's account has used up its quota of this name. `rows` are those it has.

    To be called in the transaction that adds the row, before that locks anything but users: the account stays
    locked. Adds the reason to `problems`, or raises `Invalid` where there are none, without a field.
    """
    compare(name, lock_account(actor.account_id).quotas, rows, problems)


def check_users_quota(user_id: int, name: str, rows: QuerySet[Any], problems: Problems | None = None) -> None:
    """As `check_quota`, of a user, whose row is locked, by the quotas of its account. Staff have no account."""
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    compare(name, user.account.quotas if user.account else {}, rows, problems)


def compare(
    name: str, own: Mapping[str, int], rows: QuerySet[Any], problems: Problems | None = None, more: int = 1
) -> None:
    """As `check_quota`, for a caller that has locked what keeps others from adding rows. `own` are the account's
    quotas, `more` the number of rows to be added."""
    most = most_of(name, own)
    if rows.count() + more > most:
        reason = QUOTAS[name].reason(most)
        if problems is None:
            raise Invalid(reason)
        problems.add(None, reason)
