"""Recording usage, in the transaction that changes a resource: intervals of resources and counters of accounts.

A service that changes the metered properties of a resource calls `record` or `begin` last in its transaction, after
it has written the rows. The account's counters are locked after all other rows (docs/locking.md), and only until
the commit that follows. So creates of one account do not wait for the whole of each other's transaction.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack, cast

from django.db import connection
from django.db.models import Q

from accounts.models import ResourceUse
from accounts.models.accounts import CLOSED
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import limits_for, lock_use, resources_of
from compute.models import Backup, Image, Instance, IPv6Range, NodeBalancer, UsageInterval, UsageKind, Volume
from compute.services.usage import clock, metering
from compute.services.usage.metering import Metered
from config.errors import Invalid, Problems

Key = tuple[str, int]

KINDS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "instances": (Instance, "pk", (UsageKind.COMPUTE, UsageKind.COMPUTE_BACKUPS)),
    "volumes": (Volume, "pk", (UsageKind.VOLUME,)),
    "backups": (Backup, "pk", (UsageKind.BACKUP,)),
    "images": (Image, "number", (UsageKind.IMAGE,)),
    "ranges": (IPv6Range, "pk", (UsageKind.IPV6_RANGE,)),
    "nodebalancers": (NodeBalancer, "pk", (UsageKind.NODEBALANCER,)),
}
"""The models of resources, the fields that identify their rows, and the kinds of their intervals."""

OLDER_THAN_INSTANCES = frozenset({UsageKind.EXTRA_IPV4, UsageKind.IPV6_RANGE})
"""Kinds of resources that an instance can get from another one. They may have been used before a failed create."""

INSTANCE_COUNTS = ("instances", "vcpus", "memory", "gpus", "disk")
_BEGIN = """
WITH plan AS (
    SELECT * FROM compute_instancetype WHERE id = %(type)s
), begun AS (
    INSERT INTO compute_usageinterval
        (account_id, kind, resource, label, region, type, quantity, price_hourly, price_monthly, counts, started)
    SELECT %(account)s, 'compute', %(instance)s, %(label)s, %(region)s, id, 1,
           price_hourly::text::numeric, price_monthly::text::numeric,
           jsonb_build_object('instances', 1, 'vcpus', vcpus, 'memory', memory, 'gpus', gpus, 'disk', disk), %(at)s
      FROM plan
     UNION ALL
    SELECT %(account)s, 'compute_backups', %(instance)s, %(label)s, %(region)s, id, 1,
           COALESCE(backup_price_hourly, 0)::text::numeric, backup_price_monthly::text::numeric, '{}', %(at)s
      FROM plan WHERE %(backups)s
)
INSERT INTO accounts_resourceuse AS used (account_id, instances, vcpus, memory, gpus, disk)
SELECT %(account)s, 1, vcpus, memory, gpus, disk FROM plan
ON CONFLICT (account_id) DO UPDATE
   SET instances = used.instances + 1, vcpus = used.vcpus + excluded.vcpus, memory = used.memory + excluded.memory,
       gpus = used.gpus + excluded.gpus, disk = used.disk + excluded.disk
 WHERE NOT used.closed
RETURNING instances, vcpus, memory, gpus, disk
"""
# As `metering.instances` and `record` do for a row that is there, in one round trip: each create runs it.


class Resources(TypedDict, total=False):
    """Keys of resources by their nouns. Images are named by their numbers. The rows may be gone."""

    instances: list[int]
    volumes: list[int]
    backups: list[int]
    images: list[int]
    ranges: list[int]
    nodebalancers: list[int]


def record(
    account_id: int,
    *,
    addresses: bool = False,
    check: bool = True,
    failed: bool = False,
    **resources: Unpack[Resources],
) -> None:
    """Bring the intervals of these resources, and the account's counters, in line with the resources' rows.

    With `addresses`, the account's extra IPv4 addresses are metered anew too. A resource whose price, quantity,
    type or region differs begins a new interval.

    Raises `Invalid` without a field if a counter has grown beyond its limit, or if a user of the account has closed
    it meanwhile, unless `check` is off. With `failed`, a resource that is gone could not be made if one of its
    intervals is still open. It costs nothing: all its intervals are deleted, also those that have ended. Intervals
    of `OLDER_THAN_INSTANCES` still end.
    """
    keys = cast(dict[str, list[int]], resources)
    if not addresses and not any(keys.values()):
        return
    used = lock_use(account_id)
    wanted = {(each.kind, each.resource): each for each in _metered(account_id, keys, addresses)}
    if check and used.closed and wanted:
        raise Invalid(CLOSED)
    there = Q(account=account_id, kind=UsageKind.EXTRA_IPV4) if addresses else Q(pk=None)
    for name, ids in keys.items():
        there |= Q(kind__in=KINDS[name][2], resource__in=ids)
    present = UsageInterval.objects.filter(there, ended=None)
    changes = replace_intervals(
        {(row.kind, row.resource): row for row in present}, wanted, account_id, failed=failed
    )
    _add(used, changes, limits_for(account_id) if check else {})


def begin(instance: Instance, limits: Mapping[str, int | None]) -> None:
    """Begin to meter and count a new instance, by one statement. Needs its type.

    Of requests that race for the last instance of a quota, each waits for the counters and sees those before it.
    Raises `Invalid` without a field if a counter has grown beyond one of the `limits`, or if a user of the account
    has closed it meanwhile.
    """
    values: dict[str, Any] = {
        "account": instance.account_id,
        "instance": instance.pk,
        "label": instance.label,
        "region": instance.region_id,
        "type": instance.type_id,
        "backups": instance.backups_enabled,
        "at": clock.now(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, values)
        row = cursor.fetchone()
    if row is None:
        raise Invalid(CLOSED)
    used = dict(zip(INSTANCE_COUNTS, row, strict=True))
    if limits:
        _check(used, metering.counts_of(instance.type), limits)


def require_left(account_id: int, name: str, more: int) -> None:
    """Raise `Invalid` without a field if an account may not use `more` of a resource. This takes nothing.

    It refuses early what `record` would refuse when the size is known.
    """
    present = resources_of(account_id)
    _check({name: present.used[name] + more}, {name: more}, {name: present.limits[name]})


def parts_of(instance: Instance) -> Resources:
    """Return the keys of all that is deleted with an instance, for `record`. Its addresses are not in it."""
    return {
        "instances": [instance.pk],
        "backups": list(Backup.objects.filter(instance=instance).values_list("pk", flat=True)),
        "ranges": list(IPv6Range.objects.filter(instance=instance).values_list("pk", flat=True)),
    }


def _metered(account_id: int, keys: Mapping[str, Collection[int]], addresses: bool) -> Iterable[Metered]:
    for name, ids in keys.items():
        model, column, _ = KINDS[name]
        yield from metering.OF_ROWS[name](model.objects.filter(**{f"{column}__in": ids}))
    if addresses:
        yield from metering.extra_addresses(account_id)


def replace_intervals(
    present: Mapping[Key, UsageInterval], wanted: Mapping[Key, Metered], account_id: int, *, failed: bool = False
) -> Counter[str]:
    """End, begin and update intervals until `wanted` is metered. Return the changes of the counters.

    `present` are the open intervals of all resources that `wanted` could name. `failed` is as for `record`.
    """
    now = clock.now()
    changes: Counter[str] = Counter()
    begun = []
    for key, metered in wanted.items():
        row = present.get(key)
        if row is not None and is_same(row, metered):
            if row.counts != metered.counts:
                UsageInterval.objects.filter(pk=row.pk).update(counts=metered.counts)
        else:
            begun.append(_interval(account_id, metered, now if row is None else _end(row, now)))
        changes.update(metered.counts)
    for key, row in present.items():
        changes.subtract(row.counts)
        if failed and key not in wanted and row.kind not in OLDER_THAN_INSTANCES:
            _forget(row)
        elif key not in wanted or not is_same(row, wanted[key]):
            UsageInterval.objects.filter(pk=row.pk).update(ended=_end(row, now))
    UsageInterval.objects.bulk_create(begun)
    return changes


def _forget(row: UsageInterval) -> None:
    """Delete the intervals of a resource that could not be made. `row` is an open one.

    Earlier ones adjoin it, if a price changed or a backup service was cancelled meanwhile. They are found by their
    ends, because the index of an account's intervals has no resources.
    """
    (kinds,) = (kinds for _, _, kinds in KINDS.values() if row.kind in kinds)
    intervals = UsageInterval.objects.filter(account=row.account_id, resource=row.resource)
    since: datetime | None = row.started
    while since is not None:
        first = since
        before = intervals.filter(kind=row.kind, ended=first, started__lt=first)
        since = before.values_list("started", flat=True).first()
    intervals.filter(Q(ended=None) | Q(ended__gte=first), kind__in=kinds).delete()


def _end(row: UsageInterval, now: datetime) -> datetime:
    """Return when the interval ends and the next begins. The clock of the process that began it may be ahead."""
    return max(now, row.started)


def is_same(row: UsageInterval, metered: Metered) -> bool:
    """Tell whether an interval need not end for a resource to be metered so. A label is that of the beginning."""
    return (row.region, row.type, row.quantity, (row.price_hourly, row.price_monthly)) == (
        metered.region, metered.type, metered.quantity, metered.price,
    )  # fmt: skip


def _interval(account_id: int, metered: Metered, at: datetime) -> UsageInterval:
    hourly, monthly = metered.price
    return UsageInterval(
        account_id=account_id,
        kind=metered.kind,
        resource=metered.resource,
        label=metered.label,
        region=metered.region,
        type=metered.type,
        quantity=metered.quantity,
        price_hourly=hourly,
        price_monthly=monthly,
        counts=metered.counts,
        started=at,
    )


def _add(used: ResourceUse, changes: Mapping[str, int], limits: Mapping[str, int | None]) -> None:
    """Add changes to the locked counters of an account."""
    changed: dict[str, Any] = {name: getattr(used, name) + more for name, more in changes.items() if more}
    if changed:
        ResourceUse.objects.filter(pk=used.pk).update(**changed)
        _check(changed, changes, limits)


def _check(used: Mapping[str, int], more: Mapping[str, int], limits: Mapping[str, int | None]) -> None:
    """Raise `Invalid` with every counter that has grown by `more`, to `used`, and so beyond its limit."""
    problems = Problems()
    for name, limit in limits.items():
        if limit is not None and more.get(name, 0) > 0 and used[name] > limit:
            problems.add(None, RESOURCE_QUOTAS[name].reason(limit, used[name] - more[name], more[name]))
    problems.raise_any()
