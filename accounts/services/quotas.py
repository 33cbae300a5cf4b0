"""Checks of quotas: whether an account or a user may have one more object of a kind.

A service that adds an object first locks the row of the owner and then counts. Of two requests that add the last
one, the second then counts the object of the first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from accounts.actors import Actor
from accounts.models import Account, ResourceUse, TrustLevel, User
from accounts.models.accounts import CLOSED
from accounts.quotas import LEVELS, NEW, QUOTAS, RESOURCE_QUOTAS
from accounts.services.account import lock_account
from config.errors import Invalid, Problem, Problems


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
    adds the reason to `problems`. Without `problems`, it raises `Invalid` without a field. It always
    raises `Invalid` if a user of the account has closed it meanwhile.
    """
    account = lock_account(actor.account_id)
    if account.closed is not None:
        raise Invalid(CLOSED)
    compare(name, account.quotas, rows, problems)


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


# --- resources that cost money --------------------------------------------------------------------------------


def limits_of_level(level: str, row: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return the limits of a trust level, of which `row` are those of the operator's catalogue file, if any.

    A level that exists no longer has the limits of a new account.
    """
    return LEVELS.get(level, LEVELS[NEW]) if row is None else row


def effective_limits(level: Mapping[str, int], own: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the limits of resources: the account's own, else those of its level. None is no limit."""
    raised = {name: limit for name, limit in own.items() if name in RESOURCE_QUOTAS}
    return {**level, **raised}


def limits_for(account_id: int) -> dict[str, int | None]:
    """Return the limits of resources for the account with this id, by names of `RESOURCE_QUOTAS`."""
    level, own = Account.objects.values_list("trust_level", "quotas").get(pk=account_id)
    row = TrustLevel.objects.filter(pk=level).values_list("limits", flat=True).first()
    return effective_limits(limits_of_level(level, row), own)


EXTRA_IPV4 = "extra_ipv4"
"""The counter of public IPv4 addresses beyond one for each instance. Its limit is the account's column."""


def lock_use(account_id: int) -> ResourceUse:
    """Lock the counters of an account until the transaction ends; new ones if it has none."""
    locked = ResourceUse.objects.select_for_update(no_key=True)
    ResourceUse.objects.bulk_create([ResourceUse(account_id=account_id)], ignore_conflicts=True)
    return locked.get(pk=account_id)


@dataclass(frozen=True, slots=True)
class Resources:
    """The limits of an account's resources and what it uses now, by names of `RESOURCE_QUOTAS` and `EXTRA_IPV4`.

    No limit is None.
    """

    limits: Mapping[str, int | None]
    used: Mapping[str, int]

    def refusals(self, more: Mapping[str, int]) -> Iterator[str]:
        """Yield the reason for each quota of `RESOURCE_QUOTAS` that does not allow the account to use `more`.

        They are the reasons of refused requests: pages show them before a request.
        """
        for name, quota in RESOURCE_QUOTAS.items():
            limit, used, wanted = self.limits[name], self.used[name], more.get(name, 0)
            if limit is not None and wanted > 0 and used + wanted > limit:
                yield Problem(quota.reason(limit, used, wanted)).reason


def resources_of(account_id: int) -> Resources:
    """Return the limits and the use of the account with this id. One query."""
    names = (*RESOURCE_QUOTAS, EXTRA_IPV4)
    of_level = TrustLevel.objects.filter(pk=OuterRef("trust_level")).values("limits")
    counters = (f"resource_use__{name}" for name in names)
    level, own, extra, row, *used = Account.objects.values_list(
        "trust_level", "quotas", EXTRA_IPV4, Subquery(of_level), *counters
    ).get(pk=account_id)
    limits = {**dict.fromkeys(names), **effective_limits(limits_of_level(level, row), own), EXTRA_IPV4: extra}
    return Resources(limits, dict(zip(names, (count or 0 for count in used), strict=True)))
