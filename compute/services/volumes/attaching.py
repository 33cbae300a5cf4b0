"""Attaching volumes to instances, and detaching them."""

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import VolumeAttachData, VolumeDetachData
from compute.jobs.queue import enqueue
from compute.models import Instance, Job, Volume, VolumeDevice
from compute.refs import instance_ref, volume_ref
from compute.services.common.locks import check_idle, check_writable, lock_any
from compute.services.volumes import attachments
from compute.services.volumes.changes import begin_alone, check_free, lock_row, note_unless_active
from compute.services.volumes.places import Place, choose_profile, find_instance
from config.errors import Busy, Missing, Problems

IN_USE = "The compute runs from this volume: shut it down first."


@transaction.atomic
def attach(actor: Actor, volume: Volume, place: Place, problems: Problems | None = None) -> Volume:
    """Attach a volume to an idle instance of its region, running or not; a job plugs it into a machine that is on.

    The volume is shown as attached at once, and as detached again if the job fails. While the volume is being made,
    resized or detached, the job waits. If the instance has the volume already, nothing changes.

    Raises `Invalid` with every failing field, after those in `problems`, or if another instance has the volume.
    Raises `Denied` on ``compute_id`` if the actor may only read the instance. Raises `Busy` while a job of the
    instance is live.
    """
    problems = problems or Problems()
    instance = find_instance(actor, place, problems)
    locked = lock_row(volume)
    if instance and locked.instance_id == instance.pk:
        problems.raise_any()
        return locked
    if locked.instance_id is not None:
        problems.add(None, attachments.ATTACHED_ELSEWHERE)
    elif instance and instance.region_id != locked.region_id:
        problems.add("compute_id", "The compute is in another region than the volume.")
    config = choose_profile(instance, place, problems) if instance else None
    instance = problems.checked(instance)
    check_idle(instance)
    waits = Job.objects.filter(volume=locked, finished_at=None).exists()
    locked.instance = instance
    locked.save(update_fields=["instance", "updated"])
    if config:
        attachments.fill_slots(config, [locked.pk])
    enqueue(
        "volume_attach",
        instance,
        actor,
        data=VolumeAttachData(volume_id=locked.pk, waits=waits),
        volume=None if waits else locked,
        about=volume_ref(locked),
        secondary=instance_ref(instance),
    )
    return locked


@transaction.atomic
def detach(actor: Actor, volume: Volume) -> Job | None:
    """Detach a volume from its instance and remove it from its profiles; a running machine loses it while it runs.

    The volume is shown as detached at once, and as attached again if the job fails. If the volume is not attached,
    nothing changes and the function returns None. An instance that is being deleted does not count as busy.

    Raises `Invalid` if the volume is not active or the instance runs from it. Raises `Denied` if the actor may not
    change the instance, and `Busy` while a job of the volume or the instance is live.
    """
    instance = Instance.objects.filter(volumes=volume.pk).first()
    if instance is None:
        return None
    check_writable(actor, instance)
    try:
        locked_instance = lock_any(instance)
    except Missing:  # the instance was deleted just now, and the volume detached with that
        return None
    locked = lock_row(volume)
    if locked.instance_id is None:
        return None
    if locked.instance_id != locked_instance.pk:
        raise Busy  # another request has just attached the volume to another instance
    if locked_instance.status == Instance.Status.DELETING:
        return _detach_from_deleting(actor, locked, locked_instance)
    problems = Problems()
    note_unless_active(locked, "detach", problems)
    if locked_instance.status == Instance.Status.RUNNING and _is_root(locked_instance, locked):
        problems.add(None, IN_USE)
    problems.raise_any()
    check_idle(locked_instance)
    check_free(locked)
    return enqueue(
        "volume_detach",
        locked_instance,
        actor,
        data=VolumeDetachData(volume_id=locked.pk, places=attachments.take_out(locked)),
        volume=locked,
        about=volume_ref(locked),
        secondary=instance_ref(locked_instance),
    )


def _detach_from_deleting(actor: Actor, locked: Volume, instance: Instance) -> Job | None:
    """Detach a locked volume from an instance that is being deleted.

    The job runs without an instance, so that it does not wait for the deletion. If another job of the volume lives,
    nothing changes and the function returns None: the end of the deletion detaches the volume.
    """
    if Job.objects.filter(volume=locked, finished_at=None).exists():
        return None
    attachments.take_out(locked)
    data = VolumeDetachData(volume_id=locked.pk, places=(), instance_id=instance.pk)
    return begin_alone("volume_detach", actor, locked, data, instance_ref(instance))


def _is_root(instance: Instance, volume: Volume) -> bool:
    """Tell whether the profile that the instance has booted has its root on the volume."""
    named = VolumeDevice.objects.filter(config=instance.booted_config_id, volume=volume).select_related("config")
    return any(device.config.root_device == f"/dev/{device.slot}" for device in named)
