"""Comparing an account's counters and open intervals with the rows of its resources, and repairing them."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.models import Account, ResourceUse
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import EXTRA_IPV4, lock_use
from compute.models import UsageInterval
from compute.services.usage import metering
from compute.services.usage.metering import Metered
from compute.services.usage.recording import KINDS, Key, is_same, replace_intervals

COUNTERS = (*RESOURCE_QUOTAS, EXTRA_IPV4)
INTERVALS = "intervals"
"""The key of the number of resources whose interval differs. The other keys are counters."""
COMPARED_EVERY = timedelta(days=1)
MAX_ACCOUNTS_PER_RUN = 200


def compare_some() -> int:
    """Compare the accounts that were not compared for a day, the longest waiting first. Return how many differ."""
    due = Q(resource_use=None) | Q(resource_use__compared=None)
    due |= Q(resource_use__compared__lt=Now() - COMPARED_EVERY)
    oldest = Account.objects.filter(due).order_by(F("resource_use__compared").asc(nulls_first=True), "pk")
    ids = list(oldest.values_list("pk", flat=True)[:MAX_ACCOUNTS_PER_RUN])
    return sum(bool(compare(account_id)) for account_id in ids)


@transaction.atomic
def compare(account_id: int) -> dict[str, Any]:
    """Compare what an account's resources should count and be metered as with what is recorded. Return differences.

    Each counter that differs has ``[recorded, expected]``. `INTERVALS` is the number of resources whose open
    interval is missing, differs, or has no resource. The result is stored for staff, empty if all is equal.

    While the counters are locked, no transaction that changes a resource of the account can commit.
    """
    used = lock_use(account_id)
    wanted = _wanted(account_id)
    sums = _sums(wanted)
    found: dict[str, Any] = {
        name: [getattr(used, name), sums[name]] for name in COUNTERS if getattr(used, name) != sums[name]
    }
    present = _present(account_id)
    differing = {key for key in present.keys() & wanted.keys() if not is_same(present[key], wanted[key])}
    wrong = differing | (present.keys() ^ wanted.keys())
    if wrong:
        found[INTERVALS] = len(wrong)
    ResourceUse.objects.filter(pk=account_id).update(difference=found, compared=Now())
    return found


@transaction.atomic
def repair(account_id: int) -> None:
    """Begin and end intervals now, and set the counters, so that both equal the account's resources."""
    lock_use(account_id)
    wanted = _wanted(account_id)
    replace_intervals(_present(account_id), wanted, account_id)
    sums = _sums(wanted)
    counters = {name: sums[name] for name in COUNTERS}
    ResourceUse.objects.filter(pk=account_id).update(**counters, difference={}, compared=Now())


def _wanted(account_id: int) -> dict[Key, Metered]:
    found = [*metering.extra_addresses(account_id)]
    for name, (model, _, _) in KINDS.items():
        found += metering.OF_ROWS[name](model.objects.filter(account=account_id))
    return {(each.kind, each.resource): each for each in found}


def _present(account_id: int) -> dict[Key, UsageInterval]:
    rows = UsageInterval.objects.filter(account=account_id, ended=None)
    return {(row.kind, row.resource): row for row in rows}


def _sums(wanted: dict[Key, Metered]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for metered in wanted.values():
        sums.update(metered.counts)
    return sums
