"""Setting root's password on a disk of an instance that is off."""

from django.db import transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from compute.jobs.data import DiskData
from compute.jobs.queue import enqueue, note_refusal
from compute.models import Disk, Instance, Job
from compute.refs import disk_ref
from compute.services.common.locks import is_busy, lock_any
from compute.services.common.password_strength import WEAK, is_strong
from config.errors import Busy, Missing, Problems, wrong_length

MAX_PASSWORD_LENGTH = 128
"""The largest length of a root password, in characters."""
SEVERAL_DISKS = "This compute has several disks: reset the password of one, with disks/{diskId}/password."
NO_DISK = "This compute has no disk that a password could be set on."


@transaction.atomic
def reset(actor: Actor, instance: Instance, password: str | None, problems: Problems | None = None) -> Job:
    """Set root's password on the only disk that is not swap.

    Raises `Invalid` with every failing field: ``root_pass`` if it is too weak, none if the instance is running or
    has several such disks or none. Raises `Busy` while another job is live.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    disks = list(locked.disks.exclude(filesystem=Disk.Filesystem.SWAP).order_by("pk")[:2])
    disk = disks[0] if len(disks) == 1 else None
    return _reset(
        actor, locked, disk, password, "root_pass", problems, otherwise=SEVERAL_DISKS if disks else NO_DISK
    )


@transaction.atomic
def reset_on(actor: Actor, disk: Disk, password: str | None, problems: Problems | None = None) -> Job:
    """Set root's password on this disk. Raises as `reset` does, on ``password``; `Missing` if the disk is gone."""
    locked = lock_any(disk.instance)
    found = locked.disks.filter(pk=disk.pk).first()
    if found is None:
        raise Missing
    return _reset(actor, locked, found, password, "password", problems or Problems())


def _check(password: str, field: str, problems: Problems) -> None:
    if len(password) > MAX_PASSWORD_LENGTH:
        problems.add(field, wrong_length(None, MAX_PASSWORD_LENGTH))
    elif not is_strong(password):
        problems.add(field, WEAK)


def _reset(
    actor: Actor,
    instance: Instance,
    disk: Disk | None,
    password: str | None,
    field: str,
    problems: Problems,
    *,
    otherwise: str = "",
) -> Job:
    """Enqueue the job for this disk. If it is None, raise the reason `otherwise` along with the problems."""
    if password is not None:
        _check(password, field, problems)
    busy = is_busy(instance)
    if not busy:
        note_refusal("password_reset", instance, problems)
        if disk is None:
            problems.add(None, otherwise)
        elif disk.status != Disk.Status.READY:
            problems.add(None, "The disk is not ready.")
    problems.raise_any()
    if busy or disk is None:
        raise Busy
    secrets = {"root_pass": password}
    job = enqueue(
        "password_reset", instance, actor, data=DiskData(disk_id=disk.pk), secrets=secrets, secondary=disk_ref(disk)
    )
    Disk.objects.filter(pk=disk.pk).update(status=Disk.Status.NOT_READY, updated=Now())
    return job
