"""The disks of an instance: creating, changing and deleting them. Sizes are in MB."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.jobs.data import DiskData, DiskDeleteData, DiskResizeData
from compute.jobs.queue import enqueue
from compute.models import Disk, Instance
from compute.refs import disk_ref, instance_ref
from compute.services.common.disk_space import shortage
from compute.services.common.locks import is_busy, lock_any
from compute.services.hosts.deployable import check_deployable
from compute.services.instances.deploy import DeploySpec, check_deploy, find_image, is_available
from compute.services.stackscripts.stackscripts import count_deployment
from config.db.inserts import draw_keys
from config.db.rows import differing
from config.errors import Busy, Invalid, Missing, Problems

DEPLOYED = Disk.Filesystem.EXT4
NOT_READY = "The disk is not ready."
IN_USE = "The compute runs with this disk: shut it down first, or reboot it with a profile that leaves it out."


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpec(DeploySpec):
    """A client's request for a disk: an empty one, or one that an image is deployed to.

    A request without a size is refused, because the size failed a check before.
    """

    size: int | None = None
    label: str | None = None
    filesystem: str | None = None


@transaction.atomic
def create(actor: Actor, instance: Instance, spec: DiskSpec, problems: Problems | None = None) -> Disk:
    """Add a disk, which is `not ready` until its job has made it. No profile names it yet.

    Raises `Invalid` with every failing field, `Busy` while another job is live. The sum of the disks never exceeds
    the disk space of the type.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    busy = is_busy(locked)
    image = find_image(actor, spec.image) if spec.image else None
    if spec.size is not None:
        if not busy:
            _note_shortage(locked, spec.size, problems)
        if image and is_available(image) and spec.size < image.size:
            problems.add("size", f"The image needs {image.size} MB.")
    if spec.image and spec.filesystem not in (None, DEPLOYED):
        problems.add("filesystem", f"A disk that is deployed from an image has {DEPLOYED}.")
    check_deployable(image, locked.host, problems)
    deploy = check_deploy(actor, spec, image, problems)
    size = problems.checked(spec.size)
    if busy:
        raise Busy
    disk = Disk(
        instance=locked,
        label=spec.label or _default_label(spec, image.label if image else None),
        size=size,
        filesystem=spec.filesystem or DEPLOYED,
        image=image,
        stackscript=deploy.script.script if deploy.script else None,
    )
    disk.save(force_insert=True)
    if deploy.script:
        count_deployment(deploy.script.script)
    enqueue(
        "disk_create",
        locked,
        actor,
        data=DiskData(disk_id=disk.pk),
        secrets=deploy.secrets,
        secondary=disk_ref(disk),
    )
    return disk


@transaction.atomic
def clone(actor: Actor, disk: Disk) -> Disk:
    """Copy a disk byte for byte into a new disk of the same instance.

    Raises `Invalid` if the instance lacks space for it or the disk is not ready, `Busy` while another job is live.
    """
    locked, original = _lock_row(disk)
    if is_busy(locked):
        raise Busy
    problems = Problems()
    _note_unready(original, problems)
    _note_shortage(locked, original.size, problems, field=None)
    problems.raise_any()
    copy = Disk(
        pk=draw_keys(Disk)[0],
        instance=locked,
        label=f"Copy of {original.label}"[:48],
        size=original.size,
        filesystem=original.filesystem,
        image_id=original.image_id,
    )
    copy.save(force_insert=True)
    data = DiskData(disk_id=copy.pk, copy_of=original.pk)
    enqueue("disk_clone", locked, actor, data=data, secondary=disk_ref(copy))
    return copy


@transaction.atomic
def update(actor: Actor, disk: Disk, given: Mapping[str, Any], problems: Problems | None = None) -> Disk:
    """Write a label or filesystem that differs, and enqueue the job for a `size` that differs, as `resize` does.

    The filesystem only describes the disk's content: nothing is formatted. While a job is live on the instance,
    only the label may differ. Returns the disk as it is then. Raises `Invalid` with every failing field.
    """
    problems = problems or Problems()
    wanted = differing(disk, given)
    busy = False
    if "size" in wanted or "filesystem" in wanted:
        locked, disk = _lock_row(disk)
        wanted = differing(disk, given)
        busy = is_busy(locked)
        if not busy:
            _note_unready(disk, problems)
            if "size" in wanted:
                _note_shortage(locked, wanted["size"] - disk.size, problems)
    problems.raise_any()
    if busy:
        raise Busy
    size = wanted.pop("size", None)
    if wanted:
        if not Disk.objects.filter(pk=disk.pk).update(**wanted, updated=Now()):
            raise Missing
        disk.refresh_from_db()
        record_event(actor, "disk_update", instance_ref(disk.instance), disk_ref(disk))
    return disk if size is None else _resize(actor, disk, size)


@transaction.atomic
def resize(actor: Actor, disk: Disk, size: int | None, problems: Problems | None = None) -> Disk:
    """Enqueue the job that resizes the disk, which shows its new size when the job is done.

    If the disk is in use or its files need more space, the hypervisor refuses and the job fails. Raises `Invalid`
    on ``size`` if the type has no space for it, `Busy` while another job is live.
    """
    problems = problems or Problems()
    locked, disk = _lock_row(disk)
    busy = is_busy(locked)
    if not busy:
        _note_unready(disk, problems)
        if size is not None:
            _note_shortage(locked, size - disk.size, problems)
    size = problems.checked(size)
    if busy:
        raise Busy
    return _resize(actor, disk, size)


def _resize(actor: Actor, disk: Disk, size: int) -> Disk:
    data = DiskResizeData(disk_id=disk.pk, disk_size=size, previous_disk_size=disk.size)
    enqueue("disk_resize", disk.instance, actor, data=data, secondary=disk_ref(disk))
    _show(disk, Disk.Status.NOT_READY)
    return disk


@transaction.atomic
def delete(actor: Actor, disk: Disk) -> None:
    """Delete a disk of any status, and remove it from the profiles that name it. Cannot be undone.

    Raises `Invalid` if the instance is running with it, `Busy` while another job is live.
    """
    locked, disk = _lock_row(disk)
    if is_busy(locked):
        raise Busy
    running = locked.status == Instance.Status.RUNNING
    if running and disk.devices.filter(config=locked.booted_config_id).exists():
        raise Invalid(IN_USE)
    data = DiskDeleteData(disk_id=disk.pk, previous_status=disk.status)
    enqueue("disk_delete", locked, actor, data=data, secondary=disk_ref(disk))
    _show(disk, Disk.Status.DELETING)


def _lock_row(disk: Disk) -> tuple[Instance, Disk]:
    """Lock the instance and read its disk anew. Raises `Missing` when the disk is gone."""
    locked = lock_any(disk.instance)
    found = locked.disks.filter(pk=disk.pk).first()
    if found is None:
        raise Missing
    return locked, found


def _note_unready(disk: Disk, problems: Problems) -> None:
    """Note a problem for a disk that is half-made or half-deleted: it can only be deleted."""
    if disk.status != Disk.Status.READY:
        problems.add(None, NOT_READY)


def _note_shortage(instance: Instance, more: int, problems: Problems, field: str | None = "size") -> None:
    """Note a problem if the disks of a locked instance cannot take `more` MB, which may be negative."""
    lacking = shortage(instance, more) if more > 0 else None
    if lacking:
        problems.add(field, lacking)


def _show(disk: Disk, status: str) -> None:
    Disk.objects.filter(pk=disk.pk).update(status=status, updated=Now())
    disk.refresh_from_db(fields=["status", "updated"])


def _default_label(spec: DiskSpec, image: str | None) -> str:
    if image is not None:
        return f"{image} Disk"[:48]
    return f"{spec.size}MB {'Swap Image' if spec.filesystem == Disk.Filesystem.SWAP else 'Disk'}"
