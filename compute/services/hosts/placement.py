"""Capacity of hosts: reserving it for instances, and releasing it.

A host's used capacity is the sum of its reservations, kept on its row so that a reservation is one conditional
UPDATE. A CHECK constraint of the row protects it. A caller that changes an instance's reservations has locked the
instance's row, or inserts it in the same transaction. Hosts are locked last of all, and several in the order of
their keys.
"""

from functools import cache
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from compute.models import Host, Image, Instance, InstanceType, Reservation
from config.db.rows import columns_of
from config.errors import Invalid

RESOURCES = ("memory", "vcpus", "disk")
REGION_FULL = "No host in this region has room for this type."

FITS = (
    "enabled AND maintenance IS NULL AND memory_used + {memory} <= memory AND vcpus_used + {vcpus} <= vcpus"
    " AND disk_used + {disk} <= disk"
)
"""SQL: whether a host's row has capacity for an instance of these sizes."""

_PLACE = """
WITH chosen AS (
    SELECT id FROM compute_host
     WHERE region_id = %(region)s AND id IS DISTINCT FROM %(avoid)s::bigint AND {wanted} AND {fits}
       AND (%(image)s::text IS NULL OR images IS NULL OR %(image)s = ANY(images))
       AND (%(like)s::bigint IS NULL OR driver = (SELECT driver FROM compute_host WHERE id = %(like)s))
     ORDER BY {order}
     LIMIT 1 FOR NO KEY UPDATE {others}
), taken AS (
    UPDATE compute_host
       SET memory_used = memory_used + %(memory)s, vcpus_used = vcpus_used + %(vcpus)s,
           disk_used = disk_used + %(disk)s
     WHERE id = (SELECT id FROM chosen) AND {fits}
 RETURNING *
), reserved AS (
    INSERT INTO compute_reservation AS reserved (host_id, instance_id, memory, vcpus, disk)
    SELECT id, %(instance)s, %(memory)s, %(vcpus)s, %(disk)s FROM taken
    ON CONFLICT (instance_id, host_id) DO UPDATE
       SET memory = reserved.memory + excluded.memory, vcpus = reserved.vcpus + excluded.vcpus,
           disk = reserved.disk + excluded.disk
)
SELECT {columns} FROM taken
"""
_ANSWERS = "unreachable_since IS NULL"
_ANY = "TRUE"
_FREEST = """
    LEAST(
        (memory - memory_used)::float8 / NULLIF(memory, 0), (vcpus - vcpus_used)::float8 / NULLIF(vcpus, 0),
        (disk - disk_used)::float8 / NULLIF(disk, 0)
    ) DESC, id
"""
_THIS_ONE = "id = %(only)s"
# hosts that another placement has locked are skipped; only if there is no other do we wait for them
_ATTEMPTS = ((_ANSWERS, _FREEST, "SKIP LOCKED"), (_ANSWERS, "id", ""), (_ANY, "id", ""))


def place(
    instance: Instance,
    plan: InstanceType,
    region_id: str,
    *,
    avoid: Host | None = None,
    like: int | None = None,
    image: Image | None = None,
    only: Host | None = None,
    field: str | None = "region",
) -> Host:
    """Reserve capacity for the instance, as of type `plan`, on the host of the region with the largest free share.

    Only enabled hosts that are not in maintenance are chosen, and never `avoid`. Hosts that do not answer are
    chosen only if no other host has the capacity, because they may be back in a minute. The host can deploy the
    `image`. With `like`, it has the driver of the host with that key, so that content can be copied from there.
    With `only`, no other host is chosen. The instance's row may be inserted later in the same transaction (the
    foreign key is deferred). Raises `Invalid` on `field` if no host has the capacity.
    """
    asked = {
        "region": region_id,
        "instance": instance.pk,
        "avoid": avoid and avoid.pk,
        "like": like,
        **_sizes(plan),
    }
    asked["image"] = image.pk if image and image.account_id is None else None
    tries = _ATTEMPTS if only is None else ((_THIS_ONE, "id", ""),)
    if only is not None:
        asked["only"] = only.pk
    before = transaction.savepoint()
    for wanted, order, others in tries:
        row = _take(asked, wanted, order, others)
        if row is not None:
            return Host.from_db(connection.alias, columns_of(Host), row)
        # A host that another placement filled before we had its row stays locked by us. A transaction that waits
        # for hosts must lock them in the order of their keys, as all do, and so must begin without any.
        transaction.savepoint_rollback(before)
    raise Invalid(REGION_FULL, field)


def _take(asked: dict[str, Any], wanted: str, order: str, others: str) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(_statement(wanted, order, others), asked)
        return cursor.fetchone()


@cache
def _statement(wanted: str, order: str, others: str) -> str:
    fits = FITS.format(**{name: f"%({name})s" for name in RESOURCES})
    return _PLACE.format(
        wanted=wanted,
        fits=fits,
        order=order,
        others=others,
        columns=", ".join(columns_of(Host)),
    )


def grow(instance: Instance, plan: InstanceType) -> bool:
    """Enlarge the instance's reservation on its present host to at least what `plan` needs.

    False, without any change, if the host lacks the capacity.
    """
    reserved = _reserved(instance).get(instance.host_id, dict.fromkeys(RESOURCES, 0))
    wanted = {name: max(size, reserved[name]) for name, size in _sizes(plan).items()}
    more = {name: wanted[name] - reserved[name] for name in RESOURCES}
    if any(more.values()):
        free = {f"{name}__gte": F(f"{name}_used") + more[name] for name in RESOURCES}
        before = transaction.savepoint()
        if not _use(instance.host_id, more, **free):
            transaction.savepoint_rollback(before)  # unlocks the host, which the UPDATE may have waited for
            return False
        _write(instance, instance.host_id, wanted)
    return True


def settle(instance: Instance, host: Host, plan: InstanceType) -> None:
    """Reserve exactly what `plan` needs on `host`, and nothing on other hosts. May run twice."""
    _reserve(instance, {host.pk: _sizes(plan)})


def release(instance: Instance) -> None:
    """Release all reservations of the instance."""
    _reserve(instance, {})


def _reserve(instance: Instance, wanted: dict[int, dict[str, int]]) -> None:
    """Change the instance's reservations to the `wanted` sizes, by host."""
    reserved, nothing = _reserved(instance), dict.fromkeys(RESOURCES, 0)
    for host_id in sorted(reserved.keys() | wanted.keys()):
        now, then = reserved.get(host_id, nothing), wanted.get(host_id, nothing)
        if now != then:
            _use(host_id, {name: then[name] - now[name] for name in RESOURCES})
            if host_id in wanted:
                _write(instance, host_id, then)
    if reserved.keys() - wanted.keys():
        Reservation.objects.filter(instance=instance).exclude(host__in=wanted).delete()


def _reserved(instance: Instance) -> dict[int, dict[str, int]]:
    rows = Reservation.objects.filter(instance=instance).values("host_id", *RESOURCES)
    return {row.pop("host_id"): row for row in rows}


def _use(host_id: int, more: dict[str, int], **where: Any) -> bool:
    """Add `more`, which may be negative, to the host's used capacity; False if the condition `where` does not
    hold."""
    used = {f"{name}_used": F(f"{name}_used") + size for name, size in more.items()}
    return bool(Host.objects.filter(pk=host_id, **where).update(**used))


def _write(instance: Instance, host_id: int, sizes: dict[str, int]) -> None:
    Reservation.objects.update_or_create(instance=instance, host_id=host_id, defaults=sizes)


def _sizes(plan: InstanceType) -> dict[str, int]:
    return {name: getattr(plan, name) for name in RESOURCES}
