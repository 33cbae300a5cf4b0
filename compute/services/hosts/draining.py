"""Emptying a host: it is closed, and each of its instances is scheduled to move to another host of the region.

The clock starts the moves when instances are idle and hosts have capacity (`moves.start_due`), and retries moves
that failed. The rows of instances and moves show the rest of the work, so that a drain needs no state of its own.
"""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils.timezone import now

from compute.models import Host, HostMigration, Instance, Reservation
from compute.services.hosts.placement import RESOURCES
from config.errors import Invalid

Status = HostMigration.Status
OPEN_STATUSES = (Status.PENDING, Status.STARTED)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a drain: the instances on the host, and how many of them move now, wait to move, or stay."""

    left: int
    moving: int
    waiting: int

    @property
    def staying(self) -> int:
        return self.left - self.moving - self.waiting


@transaction.atomic
def drain(host: Host, reason: str) -> int:
    """Close the host, and schedule the move of each of its instances for now. Returns how many were scheduled.

    May be called again: it then schedules an instance that arrived while the host was being closed. Raises
    `Invalid` if nothing is left to do.
    """
    moving = HostMigration.objects.filter(status__in=OPEN_STATUSES).values("instance")
    staying = list(
        Instance.objects.filter(host=host).exclude(pk__in=moving).order_by("pk").values_list("pk", flat=True)
    )
    when = now()
    rows = [HostMigration(instance_id=pk, when=when, reason=reason) for pk in staying]
    # a move that another request scheduled meanwhile is left alone
    HostMigration.objects.bulk_create(rows, batch_size=1000, ignore_conflicts=True)
    # hosts are locked after instances, whose rows the inserts have locked against deletion
    closed = Host.objects.filter(pk=host.pk, enabled=True).update(enabled=False)
    if not closed and not staying:
        raise Invalid("The host already takes no instances, and all its instances are scheduled to move.")
    return len(staying)


@transaction.atomic
def stop(host: Host) -> int:
    """Cancel the moves from the host that have not begun; returns how many. The host stays closed until it is
    enabled."""
    return HostMigration.objects.filter(instance__host=host, status=Status.PENDING).update(status=Status.CANCELLED)


def progress(host: Host) -> Progress:
    """Return the progress of the host's drain. Two queries."""
    found = (
        moves_from(host)
        .order_by()
        .aggregate(
            moving=Count("pk", filter=Q(status=Status.STARTED)),
            waiting=Count("pk", filter=Q(status=Status.PENDING)),
        )
    )
    return Progress(Instance.objects.filter(host=host).count(), found["moving"], found["waiting"])


def moves_from(host: Host) -> QuerySet[HostMigration]:
    """Return the moves from the host that are scheduled or in progress, those in progress first."""
    rows = HostMigration.objects.filter(instance__host=host, status__in=OPEN_STATUSES)
    return rows.select_related("instance").order_by("-status", "when", "pk")


def room(host: Host) -> dict[str, tuple[int, int]]:
    """Return, for each resource, the host's reservations and the free capacity of its region's other open hosts.

    Enough capacity in total does not mean that each instance fits: the largest one needs it on one host. Two
    queries.
    """
    sums: dict[str, Any] = {name: Sum(name) for name in RESOURCES}
    reserved = Reservation.objects.filter(host=host).aggregate(**sums)
    others = Host.objects.filter(region=host.region_id, enabled=True, maintenance=None).exclude(pk=host.pk)
    free = others.aggregate(**{name: Sum(name) - Sum(f"{name}_used") for name in RESOURCES})
    return {name: (reserved[name] or 0, free[name] or 0) for name in RESOURCES}
