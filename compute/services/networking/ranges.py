"""IPv6 ranges: cutting them out of the routed pools of a region, and releasing them."""

import ipaddress
from dataclasses import dataclass

from django.db import connection, transaction

from accounts.actors import Actor
from accounts.services import quotas
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute.models import AddressPool, Instance, IPv6Range, RangeShare
from compute.refs import address_ref, instance_ref
from compute.services.common.locks import lock_all, named_instances
from compute.services.networking.assign import check_staying, lock_staying
from compute.services.usage.recording import record
from config.errors import Invalid, Missing, Problems

SIZES = (56, 64)
"""Prefix lengths of the ranges that clients may ask for."""
POOL_SIZE = 116
"""The prefix length of the pools that staff assign."""

# A block of the wanted size can start where the pool does, or at the first multiple of its size past the end of a
# taken range; it is free if the next range begins after the block's end. So one pass over the ranges in order finds
# the lowest free block, whatever the ranges' sizes, and gaps left by released ranges are filled first.
_LOWEST = """
WITH taken AS (
    SELECT NULL::inet AS first, NULL::inet AS last
     UNION ALL
    SELECT range, host(broadcast(set_masklen(range, prefix)))::inet
      FROM compute_ipv6range WHERE pool_id = %(pool)s
), gaps AS (
    SELECT CASE WHEN last IS NULL THEN host(network(%(network)s::inet))::inet
                WHEN last >= host(broadcast(%(network)s::inet))::inet THEN NULL
                WHEN last = host(broadcast(set_masklen(last, %(prefix)s::int)))::inet THEN last + 1
                ELSE host(broadcast(set_masklen(last, %(prefix)s::int)))::inet + 1 END AS start,
           lead(first) OVER (ORDER BY first NULLS FIRST) AS following
      FROM taken
)
SELECT host(start) FROM gaps
 WHERE set_masklen(start, %(prefix)s::int) <<= %(network)s::inet
   AND (following IS NULL OR following > host(broadcast(set_masklen(start, %(prefix)s::int)))::inet)
 ORDER BY start LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class RangeSpec:
    """A client's request: one of `SIZES`, and either an instance or the SLAAC address of one.

    A request without a length is refused, because the length failed a check before.
    """

    prefix_length: int | None
    compute_id: int | None = None
    route_target: str | None = None


@transaction.atomic
def create(actor: Actor, spec: RangeSpec, problems: Problems | None = None) -> IPv6Range:
    """Give the account a range that is routed to one of its instances.

    Raises `Invalid` with every problem, after those in `problems`. The field that names no such instance has a
    problem. Without a field, there is a problem if the account has reached its limit of ranges in the region, or if
    the region has no range of that size left. Raises `Busy` while the instance moves or is being deleted.
    """
    problems = problems or Problems()
    target = _target(actor, spec, problems)
    account = lock_account(actor.account_id)
    instances = lock_all([] if target is None else [target.pk])
    for instance in instances.values():
        mine = IPv6Range.objects.filter(account=account, region=instance.region_id, kind=IPv6Range.Kind.RANGE)
        quotas.compare("ipv6_ranges", account.quotas, mine, problems)
    prefix_length = problems.checked(spec.prefix_length)
    (instance,) = instances.values()
    check_staying(instances)
    made = cut(instance.region_id, prefix_length)
    made.account, made.instance = account, instance
    made.save(force_insert=True)
    record_event(actor, "compute_addip", instance_ref(instance), address_ref(str(made)))
    record(account.pk, ranges=[made.pk])
    return made


def _target(actor: Actor, spec: RangeSpec, problems: Problems) -> Instance | None:
    """Return the instance that a spec names. None, with a problem noted, if it cannot have a range."""
    if spec.compute_id is not None and spec.route_target is not None:
        problems.add("route_target", "Give either compute_id or route_target.")
        return None
    if spec.compute_id is None and spec.route_target is None:
        if "compute_id" not in problems and "route_target" not in problems:
            problems.add("compute_id", "compute_id or route_target is required")
        return None
    field = "compute_id" if spec.compute_id is not None else "route_target"
    found = _named(actor, spec, field)
    if found is None:
        problems.add(field, f"{field} is not valid")
    elif found.ipv6 is None:
        problems.add(field, "This compute has no IPv6 address that a range could be routed to.")
    return found


def _named(actor: Actor, spec: RangeSpec, field: str) -> Instance | None:
    """Return the instance that a spec names; None if the actor sees none. Raises `Denied` if the actor may only
    read it."""
    wanted = spec.compute_id
    if spec.route_target is not None:
        try:
            address = ipaddress.IPv6Address(spec.route_target)
        except ValueError:
            return None
        holders = Instance.objects.filter(account_id=actor.account_id, ipv6=f"{address}/128")
        wanted = holders.values_list("pk", flat=True).first()
    return None if wanted is None else named_instances(actor, [wanted], field).get(wanted)


@dataclass(frozen=True, slots=True)
class SharedRange:
    """A range that was read with `for_api`, and the keys of its instances.

    `computes` begins with the instance that the range is routed to. The instances that share it follow in order.
    """

    range: IPv6Range
    computes: list[int]


def with_shares(actor: Actor, ipv6_range: IPv6Range) -> SharedRange:
    """Return the range with the instances that the actor may see."""
    seen = Instance.objects.visible_to(actor).values("pk")
    shares = RangeShare.objects.filter(range=ipv6_range, instance__in=seen).exclude(instance=ipv6_range.instance_id)
    its = ipv6_range.instance_id
    routed = [its] if its is not None and seen.filter(pk=its).exists() else []
    return SharedRange(ipv6_range, [*routed, *shares.order_by("instance").values_list("instance_id", flat=True)])


def cut(region_id: str, prefix: int) -> IPv6Range:
    """Return the lowest free range of this size in the region, not saved yet and without an account.

    Locks the pools it reads, in order, so that of two requests the second sees the range that the first took.
    Raises `Invalid` if no range is free.
    """
    pools = AddressPool.objects.filter(region_id=region_id, kind=AddressPool.Kind.ROUTED).order_by("pk")
    for pool in pools.select_for_update(no_key=True):
        with connection.cursor() as cursor:
            cursor.execute(_LOWEST, {"pool": pool.pk, "network": pool.network, "prefix": prefix})
            found = cursor.fetchone()
        if found:
            return IPv6Range(region_id=region_id, pool=pool, range=found[0], prefix=prefix)
    raise Invalid("No IPv6 ranges of this size are left in this region.")


@transaction.atomic
def delete(actor: Actor, ipv6_range: IPv6Range) -> None:
    """Release a range; its addresses are no longer routed. Raises `Busy` while its instance moves or is being
    deleted."""
    lock_account(actor.account_id)
    row = IPv6Range.objects.filter(pk=ipv6_range.pk).first()
    if row is None:
        raise Missing
    instance = lock_staying([row.instance_id])[row.instance_id] if row.instance_id is not None else None
    row.delete()
    record_event(
        actor, "compute_deleteip", instance_ref(instance) if instance else None, address_ref(str(ipv6_range))
    )
    record(actor.account_id, check=False, ranges=[ipv6_range.pk])


@transaction.atomic
def give_pool(ipv6_range: IPv6Range, actor: Actor) -> None:
    """Give an account a /116 pool, for staff; it is routed to one of the account's instances, or not routed yet.

    `ipv6_range` has its account and region. Raises as `prepare_pool`.
    """
    prepare_pool(ipv6_range)
    ipv6_range.save(force_insert=True)
    entity = instance_ref(ipv6_range.instance) if ipv6_range.instance else None
    record_event(actor, "compute_addip", entity, address_ref(str(ipv6_range)))


def prepare_pool(ipv6_range: IPv6Range) -> None:
    """Find the network of a new pool, or raise `Invalid` with every problem. Locks as `cut`."""
    problems = Problems()
    if ipv6_range.instance is not None and ipv6_range.instance.account_id != ipv6_range.account_id:
        problems.add("instance", "This compute is of another account.")
    if ipv6_range.instance is not None and ipv6_range.instance.region_id != ipv6_range.region_id:
        problems.add("instance", "This compute is in another region.")
    problems.raise_any()
    free = cut(ipv6_range.region_id, POOL_SIZE)
    ipv6_range.pool, ipv6_range.range, ipv6_range.prefix, ipv6_range.kind = (
        free.pool,
        free.range,
        POOL_SIZE,
        IPv6Range.Kind.POOL,
    )
