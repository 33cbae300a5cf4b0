"""Setting root's password on a disk of an instance that is off."""

from django.db import transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from compute.jobs.data import DiskData
from compute.jobs.queue import enqueue
from compute.models import Disk, Instance, Job
from compute.refs import disk_ref
from compute.services.common.locks import lock_idle
from compute.services.common.password_strength import WEAK, is_strong
from config.errors import Invalid, Missing

MAX_PASSWORD_LENGTH = 128
"""Characters."""


@transaction.atomic
def reset(actor: Actor, instance: Instance, password: str) -> Job:
    """Set root's password on the only disk that is not swap.

    Raises `Invalid` on ``root_pass`` where it is too weak, without a field where the instance runs or has several
    such disks or none; `Busy` while another job lives.
    """
    locked = lock_idle(instance)
    disks = list(locked.disks.exclude(filesystem=Disk.Filesystem.SWAP).order_by("pk")[:2])
    _check(password, "root_pass")
    if len(disks) > 1:
        raise Invalid("This compute has several disks: reset the password of one, with disks/{diskId}/password.")
    if not disks:
        raise Invalid("This compute has no disk that a password could be set on.")
    return _reset(actor, locked, disks[0], password)


@transaction.atomic
def reset_on(actor: Actor, disk: Disk, password: str) -> Job:
    """Set root's password on this disk. Raises as `reset` does, on ``password``."""
    locked = lock_idle(disk.instance)
    found = locked.disks.filter(pk=disk.pk).first()
    if found is None:
        raise Missing
    _check(password, "password")
    return _reset(actor, locked, found, password)


def _check(password: str, field: str) -> None:
    if len(password) > MAX_PASSWORD_LENGTH:
        raise Invalid(
            f"{field.replace('_', ' ').capitalize()} must be at most {MAX_PASSWORD_LENGTH} characters", field
        )
    if not is_strong(password):
        raise Invalid(WEAK, field)


def _reset(actor: Actor, instance: Instance, disk: Disk, password: str) -> Job:
    if disk.status != Disk.Status.READY:
        raise Invalid("The disk is not ready.")
    secrets = {"root_pass": password}
    job = enqueue(
        "password_reset", instance, actor, data=DiskData(disk_id=disk.pk), secrets=secrets, secondary=disk_ref(disk)
    )
    Disk.objects.filter(pk=disk.pk).update(status=Disk.Status.NOT_READY, updated=Now())
    return job
