"""Resizing an instance: to a type that the customer chooses, or to the successor of a deprecated type."""

from dataclasses import replace

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import MoveData
from compute.jobs.queue import enqueue
from compute.models import Disk, Instance, InstanceType, Job
from compute.services.common.boot_profile import boot_config
from compute.services.common.disk_space import taken
from compute.services.common.locks import lock_idle
from compute.services.common.regions import capability_of
from compute.services.hosts.placement import grow, place
from config.errors import Invalid, Problems

DATA = (Disk.Filesystem.EXT3, Disk.Filesystem.EXT4)


@transaction.atomic
def resize(actor: Actor, instance: Instance, type_id: str, auto_disk_resize: bool = True) -> Job:
    """Give the instance the type `type_id`; a running instance is shut down for that and booted again.

    With `auto_disk_resize` its disk is resized to fill the new type beside its swap disk, where it has just these
    two. Raises `Invalid` on ``type`` where the type is not available or lacks space for the disks; `Busy` while
    another job lives.
    """
    locked = lock_idle(instance)
    plan = InstanceType.objects.filter(pk=type_id).first()
    if plan is None:
        raise Invalid("type is not valid", "type")
    problems = Problems()
    if plan.deprecated:
        problems.add("type", "This type is no longer offered.")
    if plan == locked.type:
        problems.add("type", "The compute is of this type already.")
    needs = capability_of(plan)
    if needs not in locked.region.capabilities:
        problems.add("type", f"The compute's region does not offer {needs}.")
    problems.raise_any()
    return _change("resize", actor, locked, plan, auto_disk_resize, "type")


@transaction.atomic
def mutate(actor: Actor, instance: Instance, auto_disk_resize: bool = True) -> Job:
    """Give an instance of a deprecated type that type's successor, as `resize` does.

    Raises `Invalid` where there is no successor, and as `resize` without naming a field.
    """
    locked = lock_idle(instance)
    if not locked.type.deprecated or locked.type.successor is None:
        raise Invalid("There is no upgrade of this compute's type.")
    return _change("mutate", actor, locked, locked.type.successor, auto_disk_resize, None)


def _change(
    kind: str, actor: Actor, instance: Instance, plan: InstanceType, auto_disk_resize: bool, field: str | None
) -> Job:
    """Reserve the new type's capacity, on another host where the present one lacks it, and enqueue the job."""
    disks = list(instance.disks.order_by("pk"))
    auto = _automatic(disks, plan) if auto_disk_resize else None
    used = taken(instance)
    if auto is None and used > plan.disk:
        raise Invalid(f"The compute's disks need {used} MB, and the new type has {plan.disk} MB.", field)
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
    return enqueue(kind, instance, actor, data=data)


def _automatic(disks: list[Disk], plan: InstanceType) -> tuple[Disk, int] | None:
    """The disk to resize along with the type, and its new size in MB: the data disk beside one swap disk."""
    data = [disk for disk in disks if disk.filesystem in DATA]
    swap = [disk for disk in disks if disk.filesystem == Disk.Filesystem.SWAP]
    if len(disks) != 2 or len(data) != 1 or len(swap) != 1 or plan.disk <= swap[0].size:
        return None
    size = plan.disk - swap[0].size
    return (data[0], size) if size != data[0].size else None
