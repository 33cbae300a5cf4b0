"""Resizing an instance: to a type that the customer chooses, or to the successor of a deprecated type."""

from collections.abc import Iterable
from dataclasses import replace

from django.db import transaction

from accounts.actors import Actor
from accounts.services.quotas import resources_of
from compute.jobs.data import MoveData
from compute.jobs.queue import enqueue
from compute.models import Disk, Instance, InstanceType, Job
from compute.services.common.boot_profile import boot_config
from compute.services.common.disk_space import taken, too_small
from compute.services.common.locks import is_busy, lock_any
from compute.services.common.regions import NO_SUCH_TYPE, capability_of
from compute.services.hosts.free_capacity import full_types
from compute.services.hosts.placement import REGION_FULL, grow, place
from compute.services.usage.metering import counts_of
from compute.services.usage.recording import record
from config.errors import Busy, Problems

DATA = (Disk.Filesystem.EXT3, Disk.Filesystem.EXT4)
NO_UPGRADE = "There is no upgrade of this compute's type."


@transaction.atomic
def resize(
    actor: Actor,
    instance: Instance,
    type_id: str | None,
    auto_disk_resize: bool = True,
    problems: Problems | None = None,
) -> Job:
    """Give the instance the type `type_id`; a running instance is shut down for that and booted again.

    With `auto_disk_resize`, an instance with one disk and one swap disk gets a disk that fills the new type, except
    for the space of the swap disk. Raises `Invalid` with every failing field: ``type`` if the type is not available
    or lacks space for the disks, without a field if the account's quotas do not allow the type. Raises `Busy` while
    another job is live.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    plan = InstanceType.objects.filter(pk=type_id).first() if type_id is not None else None
    if plan is not None:
        _check_type(locked, plan, problems)
    elif type_id is not None:
        problems.add("type", NO_SUCH_TYPE)
    return _change("resize", actor, locked, plan, auto_disk_resize, "type", problems)


def _check_type(instance: Instance, plan: InstanceType, problems: Problems) -> None:
    """Note on ``type`` why an instance cannot be given this type, whatever disks it has."""
    if plan == instance.type:
        problems.add("type", "Compute is already running this service plan.")
    elif plan.deprecated:
        problems.add("type", "This type is no longer offered.")
    needs = capability_of(plan)
    if needs not in instance.region.capabilities:
        problems.add("type", f"The compute's region does not offer {needs}.")


def reasons_against(instance: Instance, plans: Iterable[InstanceType]) -> dict[str, str]:
    """Return the reasons why `resize`, with automatic disk resize, would refuse types now, by their ids. Four
    queries.

    Pages show such types as unavailable.
    """
    plans = list(plans)
    disks, used = list(instance.disks.order_by("pk")), taken(instance)
    full = full_types(instance, [plan.pk for plan in plans])
    quotas, present = resources_of(instance.account_id), counts_of(instance.type)
    found: dict[str, str] = {}
    for plan in plans:
        problems = Problems()
        _check_type(instance, plan, problems)
        for problem in problems:
            found.setdefault(plan.pk, problem.reason)
        if _automatic(disks, plan) is None and used > plan.disk:
            found.setdefault(plan.pk, too_small(used, plan))
        if plan.pk in full:
            found.setdefault(plan.pk, REGION_FULL)
        more = {name: count - present[name] for name, count in counts_of(plan).items()}
        for reason in quotas.refusals(more):
            found.setdefault(plan.pk, reason)
    return found


def upgrade_of(instance: Instance) -> InstanceType | None:
    """Return the type that replaces the instance's deprecated type; None if there is none."""
    return instance.type.successor if instance.type.deprecated else None


@transaction.atomic
def mutate(
    actor: Actor, instance: Instance, auto_disk_resize: bool = True, problems: Problems | None = None
) -> Job:
    """Give an instance of a deprecated type that type's successor, as `resize` does.

    Raises `Invalid` if there is no successor, and as `resize` without naming a field.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    plan = upgrade_of(locked)
    if plan is None and locked.status in Instance.SETTLED:
        problems.add(None, NO_UPGRADE)
    return _change("mutate", actor, locked, plan, auto_disk_resize, None, problems)


def _change(
    kind: str,
    actor: Actor,
    instance: Instance,
    plan: InstanceType | None,
    auto_disk_resize: bool,
    field: str | None,
    problems: Problems,
) -> Job:
    """Reserve the new type's capacity, on another host if the present one lacks it, and enqueue the job.

    First check the disks, which no job is changing at this point, and raise the `problems`.
    """
    busy = is_busy(instance)
    auto = None
    if plan and not busy and "allow_auto_disk_resize" not in problems:
        auto = _automatic(list(instance.disks.order_by("pk")), plan) if auto_disk_resize else None
        used = taken(instance)
        if auto is None and used > plan.disk:
            problems.add(field, too_small(used, plan))
    problems.raise_any()
    if busy or plan is None:
        raise Busy
    running = instance.status == Instance.Status.RUNNING
    config_id = boot_config(instance).pk if running else None
    host = instance.host
    if not grow(instance, plan):
        host = place(instance, plan, instance.region_id, avoid=host, field=field)
    data = MoveData(
        running=running,
        config_id=config_id,
        off_status=Instance.Status.STOPPED
        if instance.status == Instance.Status.STOPPED
        else Instance.Status.OFFLINE,
        previous_host_id=instance.host_id,
        host_id=host.pk,
        previous_type_id=instance.type_id,
        type_id=plan.pk,
    )
    if auto:
        disk, size = auto
        data = replace(data, disk_id=disk.pk, disk_size=size, previous_disk_size=disk.size)
    job = enqueue(kind, instance, actor, data=data)
    record(instance.account_id, instances=[instance.pk])
    return job


def _automatic(disks: list[Disk], plan: InstanceType) -> tuple[Disk, int] | None:
    """Return the disk to resize along with the type, and its new size in MB; None unless there are one data disk
    and one swap disk.
    """
    data = [disk for disk in disks if disk.filesystem in DATA]
    swap = [disk for disk in disks if disk.filesystem == Disk.Filesystem.SWAP]
    if len(disks) != 2 or len(data) != 1 or len(swap) != 1 or plan.disk <= swap[0].size:
        return None
    size = plan.disk - swap[0].size
    return (data[0], size) if size != data[0].size else None
