"""Metering each resource by its row: quantity, price, and its part of the account's counters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import Count, F, QuerySet

from compute.models import (
    Address,
    Backup,
    Disk,
    Image,
    Instance,
    InstanceType,
    IPv6Range,
    Job,
    NodeBalancer,
    ResourcePrice,
    UsageKind,
    Volume,
)

MOVES = ("resize", "mutate", "migrate", "migrate_region")
"""The kinds of job that may give an instance another type."""
FREE = (Decimal(0), None)
MB_PER_GB = 1024
SMALLEST_PRICE = Decimal("0.000001")
"""The smallest price that an interval stores."""

Price = tuple[Decimal, Decimal | None]
"""USD of one unit: for an hour, and at most for a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """The metering of one resource at present. The attributes are those of `UsageInterval`."""

    kind: str
    resource: int
    label: str = ""
    region: str = ""
    type: str = ""
    quantity: Decimal = Decimal(1)
    price: Price = FREE
    counts: Mapping[str, int] = field(default_factory=dict)


def counts_of(plan: InstanceType) -> dict[str, int]:
    """Return what an instance of this type uses of each quota."""
    return {
        "instances": 1, "vcpus": plan.vcpus, "memory": plan.memory, "gpus": plan.gpus, "disk": plan.disk,
    }  # fmt: skip


def price_of(plan: InstanceType) -> Price:
    return _price(plan.price_hourly, plan.price_monthly)


def backup_price_of(plan: InstanceType) -> Price:
    """Return the price of an instance's backups; 0 for a type that no longer offers them."""
    return _price(plan.backup_price_hourly or 0, plan.backup_price_monthly)


def _price(hourly: float, monthly: float | None) -> Price:
    return _exact(hourly), None if monthly is None else _exact(monthly)


def _exact(price: float) -> Decimal:
    """Return a price of a type with the digits that an interval stores."""
    # a float's shortest form is what the catalogue file says
    return Decimal(str(price)).quantize(SMALLEST_PRICE, ROUND_HALF_UP)  # rounded as PostgreSQL does


def instances(rows: QuerySet[Instance]) -> Iterator[Metered]:
    """Meter instances, and the backup service of those that have it.

    An instance costs nothing from the request of its deletion on. While a job gives an instance another type, the
    larger of both types counts for the quotas: the job may end either way.
    """
    there = list(rows.exclude(status=Instance.Status.DELETING).select_related("type"))
    types = _types_to_come([instance.pk for instance in there])
    for instance in there:
        counts = counts_of(instance.type)
        for plan in types.get(instance.pk, ()):
            counts = {name: max(count, counts[name]) for name, count in counts_of(plan).items()}
        which: dict[str, Any] = {"resource": instance.pk, "label": instance.label, "region": instance.region_id}
        yield Metered(
            kind=UsageKind.COMPUTE, type=instance.type_id, price=price_of(instance.type), counts=counts, **which
        )
        if instance.backups_enabled:
            price = backup_price_of(instance.type)
            yield Metered(kind=UsageKind.COMPUTE_BACKUPS, type=instance.type_id, price=price, **which)


def _types_to_come(instance_ids: Iterable[int]) -> dict[int, list[InstanceType]]:
    """Return the types that live jobs are giving to instances, by instance."""
    live = Job.objects.filter(instance__in=instance_ids, state__in=Job.LIVE, kind__in=MOVES)
    wanted = dict(live.values_list("instance_id", "data__type"))
    plans = InstanceType.objects.in_bulk([name for name in wanted.values() if name])
    return {key: [plans[name]] for key, name in wanted.items() if name in plans}


def volumes(rows: QuerySet[Volume]) -> Iterator[Metered]:
    price = prices().get(UsageKind.VOLUME, FREE)
    for volume in rows:
        yield Metered(
            kind=UsageKind.VOLUME,
            resource=volume.pk,
            label=volume.label,
            region=volume.region_id,
            quantity=Decimal(volume.size),
            price=price,
            counts={"volumes": 1, "volume_storage": volume.size},
        )


def backups(rows: QuerySet[Backup]) -> Iterator[Metered]:
    """Meter backups that are there or in progress. Their price is that of the instance's backup service."""
    there = rows.exclude(status__in=Backup.GIVEN_UP).exclude(instance__status=Instance.Status.DELETING)
    for backup in there:
        yield Metered(
            kind=UsageKind.BACKUP,
            resource=backup.pk,
            label=backup.label or "",
            region=backup.region_id,
            quantity=_gigabytes(backup.size),
            counts={"backup_storage": backup.size},
        )


def images(rows: QuerySet[Image]) -> Iterator[Metered]:
    """Meter accounts' own images. An image that is being made of a disk counts with the size of the disk."""
    own = list(rows.filter(number__isnull=False, account__isnull=False).exclude(status=Image.Status.DELETING))
    sizes = _sizes_to_come([image.own_number for image in own if image.status == Image.Status.CREATING])
    price = prices().get(UsageKind.IMAGE, FREE)
    for image in own:
        yield Metered(
            kind=UsageKind.IMAGE,
            resource=image.own_number,
            label=image.label,
            quantity=_gigabytes(image.size),
            price=price,
            counts={"image_storage": image.size or sizes.get(image.own_number, 0)},
        )


def _sizes_to_come(numbers: list[int]) -> dict[int, int]:
    """Return the sizes in MB of the disks that images are being made of, by the images' numbers."""
    if not numbers:
        return {}
    live = Job.objects.filter(kind="imagize", finished_at=None, data__image_number__in=numbers)
    disk_of = dict(live.values_list("data__image_number", "data__disk"))
    size_of = dict(Disk.objects.filter(pk__in=disk_of.values()).values_list("pk", "size"))
    return {number: size_of.get(disk, 0) for number, disk in disk_of.items()}


def ranges(rows: QuerySet[IPv6Range]) -> Iterator[Metered]:
    """Meter the ranges that customers asked for. Pools that staff gave are free."""
    price = prices().get(UsageKind.IPV6_RANGE, FREE)
    asked = rows.filter(kind=IPv6Range.Kind.RANGE)
    for ipv6_range in asked.exclude(instance__status=Instance.Status.DELETING):
        yield Metered(
            kind=UsageKind.IPV6_RANGE,
            resource=ipv6_range.pk,
            label=str(ipv6_range),
            region=ipv6_range.region_id,
            price=price,
            counts={"total_ipv6_ranges": 1},
        )


def nodebalancers(rows: QuerySet[NodeBalancer]) -> Iterator[Metered]:
    price = prices().get(UsageKind.NODEBALANCER, FREE)
    for balancer in rows:
        yield Metered(
            kind=UsageKind.NODEBALANCER,
            resource=balancer.pk,
            label=balancer.label,
            region=balancer.region_id,
            price=price,
            counts={"total_nodebalancers": 1},
        )


def extra_addresses(account_id: int) -> Iterator[Metered]:
    """Meter the public IPv4 addresses of an account beyond one for each of its instances."""
    extra = count_extra_ipv4(account_id)
    if extra:
        yield Metered(
            kind=UsageKind.EXTRA_IPV4,
            resource=account_id,
            quantity=Decimal(extra),
            price=prices().get(UsageKind.EXTRA_IPV4, FREE),
            counts={"extra_ipv4": extra},
        )


def count_extra_ipv4(account_id: int) -> int:
    """Return the number of an account's public IPv4 addresses beyond one for each instance that has any.

    An instance that moves to another region has addresses of both until it arrives. Only those of its present
    region count, and none of instances that are being deleted.
    """
    there = Address.objects.filter(instance__account=account_id, public=True, region=F("instance__region"))
    there = there.exclude(instance__status=Instance.Status.DELETING)
    counted = there.aggregate(addresses=Count("pk"), instances=Count("instance", distinct=True))
    return counted["addresses"] - counted["instances"]


def prices() -> dict[str, Price]:
    """Return the operator's prices by kind, without those of types and transfer."""
    rows = ResourcePrice.objects.exclude(pk=ResourcePrice.Kind.TRANSFER)
    return {row.pk: (row.hourly, row.monthly) for row in rows}


def _gigabytes(megabytes: int) -> Decimal:
    return round(Decimal(megabytes) / MB_PER_GB, 4)


OF_ROWS: dict[str, Callable[[QuerySet], Iterator[Metered]]] = {
    "instances": instances, "volumes": volumes, "backups": backups, "images": images, "ranges": ranges,
    "nodebalancers": nodebalancers,
}  # fmt: skip
