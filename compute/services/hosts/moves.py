"""Moving instances: to another host of their region, scheduled by staff, and to another region."""

import logging
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_finished
from compute.jobs.data import MoveData
from compute.jobs.definition import KINDS
from compute.jobs.queue import enqueue
from compute.models import AddressShare, Host, HostMigration, Instance, InstanceType, IPv6Range, Job, RangeShare
from compute.refs import instance_ref
from compute.services.common.boot_profile import boot_config
from compute.services.common.disk_space import taken, too_small
from compute.services.common.locks import check_idle, is_busy, lock_any
from compute.services.common.regions import VLANS, capability_of, check_region
from compute.services.hosts.placement import place
from compute.services.networking import addresses
from compute.services.networking.addresses import slaac_in
from compute.services.networking.vlans import bring_vlans, check_vlans, vlans_of
from compute.services.usage.recording import record
from config.errors import Busy, DomainError, Invalid, Problems
from regions.models import Region

log = logging.getLogger(__name__)

Status = HostMigration.Status
HERE_ALREADY = "The compute is in this region already."
SCHEDULED = "A migration to another host was scheduled for this time."
MAX_AT_ONCE = 100
"""The most due migrations that one run starts; the next run comes soon."""


@transaction.atomic
def migrate(
    actor: Actor,
    instance: Instance,
    region_id: str | None = None,
    upgrade: bool = False,
    problems: Problems | None = None,
    message: str = "",
) -> Job | None:
    """Move the instance to another region, or without `region_id` start the host migration scheduled for it.

    If the instance is already in the region, the event is finished at once and the function returns None. `upgrade`
    is refused in this case.

    A running instance is shut down for the move and booted again at the end. With `upgrade` it also gets the newer
    type that replaces its deprecated one. A move to a region cancels a scheduled migration. `message` is the
    platform's reason for a move that it starts by itself.

    Raises `Invalid` with every failing field. The error has no field if there is neither a `region_id` nor a
    scheduled migration, or if the account's quotas do not allow the newer type. Raises `Busy` while another job is
    live.
    """
    problems = problems or Problems()
    if region_id is not None:
        lock_account(actor.account_id)  # before the instance, for the VLANs that its profiles may bring
    locked = lock_any(instance)
    busy = is_busy(locked)
    if region_id == locked.region_id and not upgrade and not problems:
        check_idle(locked)
        record_finished(actor, KINDS["migrate_region"].event, instance_ref(locked))
        return None
    plan = _plan(locked, upgrade, busy, problems)
    if region_id is None:
        return _to_host(actor, locked, plan, busy, problems, message)
    return _to_region(actor, locked, region_id, plan, busy, problems)


def _to_host(
    actor: Actor, instance: Instance, plan: InstanceType, busy: bool, problems: Problems, message: str
) -> Job:
    pending = HostMigration.objects.filter(instance=instance, status=Status.PENDING)
    migration = pending.select_for_update().first()
    if migration is None and not busy and "region" not in problems:
        problems.add("region", "No migration of this compute is scheduled: name the region to move it to.")
    problems.raise_any()
    if busy or migration is None:
        raise Busy
    host = place(instance, plan, instance.region_id, avoid=instance.host)
    HostMigration.objects.filter(pk=migration.pk).update(status=Status.STARTED)
    data = _data(instance, host.pk, plan, migration_id=migration.pk)
    job = enqueue("migrate", instance, actor, data=data, message=message)
    record(instance.account_id, check=plan.pk != instance.type_id, instances=[instance.pk])
    return job


def _to_region(
    actor: Actor, instance: Instance, region_id: str, plan: InstanceType, busy: bool, problems: Problems
) -> Job:
    region = Region.objects.filter(pk=region_id).first()
    check_region(region, capability_of(plan), problems)
    if region:
        _check_may_leave(instance, region, problems)
    problems.raise_any()
    if busy:
        raise Busy
    HostMigration.objects.filter(instance=instance, status=Status.PENDING).update(status=Status.CANCELLED)
    bring_vlans(instance.account_id, region_id, vlans_of(instance.configs.all()))
    ipv4, ipv6 = _take_addresses(instance, region_id), slaac_in(region_id, instance.pk)
    host = place(instance, plan, region_id, like=instance.host_id)
    data = _data(instance, host.pk, plan, region_id=region_id, ipv4=ipv4, ipv6=ipv6)
    job = enqueue("migrate_region", instance, actor, data=data)
    record(instance.account_id, check=plan.pk != instance.type_id, instances=[instance.pk])
    return job


def _plan(instance: Instance, upgrade: bool, busy: bool, problems: Problems) -> InstanceType:
    """Return the instance's type after the move. While the instance is `busy`, its disks are not checked."""
    plan = instance.type
    if not upgrade:
        return plan
    if not plan.deprecated or plan.successor is None:
        problems.add("upgrade", "There is no free upgrade of this compute's type.")
        return plan
    used = 0 if busy else taken(instance)
    if used > plan.successor.disk:
        problems.add("upgrade", too_small(used, plan.successor))
    return plan.successor


def _check_may_leave(instance: Instance, region: Region, problems: Problems) -> None:
    """Note on ``region`` each reason why the instance cannot leave its present region."""
    if region.pk == instance.region_id:
        problems.add("region", HERE_ALREADY)
    if instance.volumes.exists():
        problems.add("region", "Volumes are attached to the compute: detach them first.")
    check_vlans(instance.account_id, region, vlans_of(instance.configs.all()), "region", problems)
    if VLANS not in region.capabilities:
        return
    advice = "Choose another region or contact support."
    if IPv6Range.objects.filter(instance=instance, kind=IPv6Range.Kind.POOL).exists():
        problems.add("region", f"The compute has IPv6 /116 pools, which this region does not have. {advice}")
    addresses_shared = AddressShare.objects.filter(Q(instance=instance) | Q(address__instance=instance))
    ranges_shared = RangeShare.objects.filter(Q(instance=instance) | Q(range__instance=instance))
    if addresses_shared.exists() or ranges_shared.exists():
        problems.add("region", f"The compute has IP failover enabled, which this region does not have. {advice}")


def _take_addresses(instance: Instance, region_id: str) -> list[str]:
    """Take as many addresses of the new region as the instance has; it keeps both sets until it has arrived.

    Lists show the addresses of the region that the instance is in.
    """
    locked = instance.addresses.order_by("pk").values_list("public", flat=True)
    kinds = sorted(locked, reverse=True) or [True]
    return [addresses.take(region_id, instance.pk, public=public) for public in kinds]


def _data(instance: Instance, host_id: int, plan: InstanceType, **rest: Any) -> MoveData:
    running = instance.status == Instance.Status.RUNNING
    return MoveData(
        running=running,
        config_id=boot_config(instance).pk if running else None,
        # an instance that its host's maintenance stopped still waits to be booted, on any host
        off_status=instance.status if instance.status == Instance.Status.STOPPED else Instance.Status.OFFLINE,
        previous_host_id=instance.host_id,
        host_id=host_id,
        previous_type_id=instance.type_id,
        type_id=plan.pk,
        **rest,
    )


# --- host migrations: for staff and the clock ---------------------------------------------------------


@transaction.atomic
def migrate_now(actor: Actor, instance: Instance, host: Host | None, reason: str) -> Job:
    """Move the instance within its region at once: to `host`, or if that is None to the one with the most free
    capacity.

    The move replaces a migration that was scheduled for later. Raises `Busy` while another job is live, and
    `Invalid` on ``host`` if that host cannot have the instance.
    """
    locked = lock_any(instance)
    if is_busy(locked):
        raise Busy
    if host is not None and (host.region_id != locked.region_id or host.pk == locked.host_id):
        raise Invalid("Choose another host of the compute's region.", "host")
    migration = HostMigration.objects.filter(instance=locked, status=Status.PENDING).select_for_update().first()
    if migration is None:
        migration = HostMigration.objects.create(instance=locked, when=now(), reason=reason)
    target = place(
        locked, locked.type, locked.region_id, avoid=locked.host, like=locked.host_id, only=host, field="host"
    )
    HostMigration.objects.filter(pk=migration.pk).update(status=Status.STARTED, reason=reason)
    data = _data(locked, target.pk, locked.type, migration_id=migration.pk)
    return enqueue("migrate", locked, actor, data=data, message=reason)


def cancel(migration: HostMigration) -> None:
    """Cancel a migration that has not begun. Raises `Invalid` if it has begun or is over."""
    pending = HostMigration.objects.filter(pk=migration.pk, status=Status.PENDING)
    if not pending.update(status=Status.CANCELLED):
        raise Invalid("Only a migration that is pending can be cancelled.")
    migration.status = Status.CANCELLED


def start_due() -> int:
    """Start the migrations whose time has come; returns how many. A busy instance's migration waits its turn.

    If more migrations are due than a run takes, they are chosen at random. Otherwise, migrations that are refused
    for long, because their region is full, would come first in each run and block all others.
    """
    due = HostMigration.objects.filter(status=Status.PENDING, when__lte=Now()).select_related("instance")
    return sum(_start(migration) for migration in due.order_by("?")[:MAX_AT_ONCE])


def _start(migration: HostMigration) -> bool:
    instance = migration.instance
    try:
        migrate(Actor.platform(instance.account_id), instance, message=f"{SCHEDULED} {migration.reason}".strip())
    except DomainError as error:
        # the next run comes soon; the other migrations must not wait for this one
        log.info("%s cannot start yet: %s", migration, error)
        return False
    return True
