"""Network transfer: how much of its quota an instance, and an account, has used this month.

Sent bytes count, received ones are free. An instance that was created or deleted during the month adds its share of
the quota to the account's pool. 1 GB is 10^9 bytes.
"""

from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Sum

from accounts.models import Account
from compute.models import Instance, Transfer
from compute.services.common.months import month_of, share_of

GB = 10**9


@dataclass(frozen=True, slots=True)
class Allotment:
    """Used transfer and quota. `used` is in bytes for an instance and in GB for an account; `quota` and `billable`
    are in GB."""

    used: int
    quota: int
    billable: int


def of_instance(instance: Instance, at: datetime) -> Allotment:
    """Return the bytes that the instance sent in the month of `at`, and its share of the account's pool. Needs its
    type."""
    month = month_of(at)
    used = Transfer.objects.filter(instance=instance, month=month).values_list("sent", flat=True).first() or 0
    quota = _quota(instance.type.transfer, month, instance.created)
    return Allotment(used, quota, max(0, used // GB - quota))


def in_month(instance: Instance, month: date) -> tuple[int, int]:
    """Return the bytes received and sent in a month; zeros if nothing was counted."""
    rows = Transfer.objects.filter(instance=instance, month=month).values_list("received", "sent")
    return rows.first() or (0, 0)


def of_account(account: Account, at: datetime) -> Allotment:
    """Return the GB that all instances of the account sent in the month of `at`, and their common quota."""
    month = month_of(at)
    living = Instance.objects.filter(account=account).values_list("type__transfer", "created")
    counted = Transfer.objects.filter(account=account, month=month).aggregate(sent=Sum("sent"), gone=Sum("quota"))
    quota = sum(_quota(size, month, created) for size, created in living) + (counted["gone"] or 0)
    used = (counted["sent"] or 0) // GB
    return Allotment(used, quota, max(0, used - quota))


def leave(instance: Instance, at: datetime) -> None:
    """Record the share of the account's pool that a deleted instance added. Runs in the transaction that deletes
    it."""
    month = month_of(at)
    quota = _quota(instance.type.transfer, month, instance.created, at)
    row, _ = Transfer.objects.get_or_create(instance=instance, month=month, defaults={"account": instance.account})
    row.quota = quota
    row.save(update_fields=["quota"])


def _quota(transfer: int, month: date, begins: datetime, ends: datetime | None = None) -> int:
    return round(transfer * share_of(month, begins, ends))
