"""Begin new intervals for resources whose price has changed.

A resource keeps the price of its open interval until a service records it again. So code that changes prices calls
`reprice` after the commit. The process may end before the call, or an interval with the earlier price may begin at
the same moment. In both cases, the comparison of counters with rows finds the interval later.
"""

import time
from collections.abc import Callable, Iterator
from itertools import groupby

from django.db import transaction
from django.db.models import Max, Q

from compute.models import InstanceType, UsageInterval, UsageKind
from compute.services.usage import metering, recording
from compute.services.usage.metering import FREE, Price
from compute.services.usage.recording import KINDS, Resources

BATCH = 200
"""The maximum number of intervals of one account that a transaction replaces. The account's counters are locked
meanwhile."""
NOUN_OF = {kind: noun for noun, (_, _, kinds) in KINDS.items() for kind in kinds}
"""The nouns of `Resources` by kinds of interval. Extra addresses have none: their resource is the account."""

Stale = tuple[str, str, Price]
"""The kind, type and earlier price of open intervals."""


def reprice(seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> int:
    """Begin new intervals for all resources with an earlier price. Return the number of intervals that ended.

    Each transaction replaces at most `BATCH` intervals of one account. No transaction begins after `seconds`.
    Limits are not checked, because the counters stay as they are.
    """
    end = None if seconds is None else clock() + seconds
    stale = _stale()
    done = 0
    for account_id, batch in _batches(stale) if stale else ():
        if end is not None and clock() >= end:
            break
        with transaction.atomic():
            recording.record(account_id, check=False, addresses=_has_addresses(batch), **_keys(batch))
        done += len(batch)
    return done


def _stale() -> list[Stale]:
    """Return the kinds, types and prices of open intervals that differ from the present prices. Two queries."""
    present = UsageInterval.objects.filter(ended=None).order_by()
    found = present.values_list("kind", "type", "price_hourly", "price_monthly").distinct()
    price_of = _prices()
    return [
        (kind, type_id, (hourly, monthly))
        for kind, type_id, hourly, monthly in found
        if price_of(kind, type_id) != (hourly, monthly)
    ]


def _prices() -> Callable[[str, str], Price]:
    """Return the function that gives the present price of a kind, and of a type if the kind has types."""
    types = InstanceType.objects.in_bulk()
    others = metering.prices()

    def price_of(kind: str, type_id: str) -> Price:
        plan = types.get(type_id)
        if plan is not None:
            return metering.backup_price_of(plan) if kind == UsageKind.COMPUTE_BACKUPS else metering.price_of(plan)
        return others.get(kind, FREE)

    return price_of


def _batches(stale: list[Stale]) -> Iterator[tuple[int, list[UsageInterval]]]:
    """Yield the stale intervals that are open now in the order of their accounts, at most `BATCH` at a time.

    Intervals that begin later are left out, so that the iteration ends.
    """
    wanted = Q()
    for kind, type_id, (hourly, monthly) in stale:
        wanted |= Q(kind=kind, type=type_id, price_hourly=hourly, price_monthly=monthly)
    rows = UsageInterval.objects.filter(wanted, ended=None)
    last = rows.aggregate(last=Max("pk"))["last"]
    rows = rows.filter(pk__lte=last).only("account_id", "kind", "resource").order_by("account_id", "pk")
    after = Q()
    while batch := list(rows.filter(after)[:BATCH]):
        for account_id, found in groupby(batch, key=lambda row: row.account_id):
            yield account_id, list(found)
        after = Q(account_id__gt=batch[-1].account_id) | Q(account_id=batch[-1].account_id, pk__gt=batch[-1].pk)


def _has_addresses(batch: list[UsageInterval]) -> bool:
    return any(row.kind == UsageKind.EXTRA_IPV4 for row in batch)


def _keys(batch: list[UsageInterval]) -> Resources:
    """Return the resources of intervals, for `record`."""
    keys: Resources = {}
    for row in batch:
        if row.kind in NOUN_OF:
            keys.setdefault(NOUN_OF[row.kind], []).append(row.resource)  # type: ignore[misc]
    return keys
