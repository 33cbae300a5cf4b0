"""The steps of volumes: making, growing and deleting one, and plugging it into the machine of its instance.

A boot plugs in the volumes that its profile names. An attachment plugs a volume in if the machine is on. One job at
a time works on a volume, and others wait for their turn.
"""

from collections.abc import Sequence
from contextlib import suppress

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.events import record_event
from compute.drivers.base import Driver, DriverError, Power, Refused, VolumeSpec
from compute.jobs import store
from compute.jobs.data import (
    SIMULATED,
    JobData,
    VolumeAttachData,
    VolumeCreateData,
    VolumeData,
    VolumeDeleteData,
    VolumeDetachData,
    VolumeResizeData,
)
from compute.jobs.definition import Fail, Outcome, Wait
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Job, Volume
from compute.models.volumes import volume_name
from compute.refs import instance_ref, volume_ref
from compute.services.common.locks import is_busy, lock_any
from compute.services.usage.recording import record
from compute.services.volumes import attachments
from compute.worker.drivers import InstanceGone
from compute.worker.run import Run, until
from config import word
from config.errors import Missing

TURN_SECONDS = 1.0
"""Seconds after which a waiting job checks again whether it is its turn."""

STILL_ATTACHED = word.sentence("The volume is still attached to another compute.")


# --- making, growing, deleting --------------------------------------------------------------------------------


def create_volume(run: Run[VolumeData]) -> Outcome:
    """Make the volume: empty, or as a copy of another one. Raises `Fail` if it was deleted meanwhile."""
    volume, original = _row(run).first(), run.data.copy_of
    if volume is None:
        raise Fail("The volume was deleted.")
    copy_of = None if original is None else volume_name(original)
    spec = VolumeSpec(_name(run), volume.region_id, volume.size, volume.hardware_type, copy_of)
    return until(_maker(run, original).create_volume(spec))


def delete_volume(run: Run[VolumeData]) -> None:
    """Delete the volume, made or half-made."""
    _driver(run).delete_volume(_name(run))


def delete_when_free(run: Run[VolumeDeleteData]) -> Outcome:
    """Delete the volume once no other job works on it or copies it.

    If the detachment of the volume failed, the machine still has the volume. Then the volume is unplugged first.
    """
    if _at_work(run, Q(data__volume=run.data.volume_id) | Q(data__copy_of=run.data.volume_id)):
        return Wait(TURN_SECONDS)
    if run.data.instance_id is not None:
        _unplug_if_there(run, run.data.instance_id)
    delete_volume(run)
    return None


def grow_volume(run: Run[VolumeResizeData]) -> Outcome:
    """Resize the volume to its new size."""
    outcome = until(_driver(run).resize_volume(_name(run), run.data.size))
    if outcome is None:
        inspect_volume(run)
        if run.size is None:
            raise DriverError("The volume is not there.")
    return outcome


def inspect_volume(run: Run[VolumeData]) -> None:
    """Look up the size of a volume, which cannot shrink again; None if the volume is missing."""
    run.size = _driver(run).volume_size(_name(run))


def mark_active(run: Run[VolumeData]) -> None:
    """Mark the volume as active."""
    _row(run).update(status=Volume.Status.ACTIVE, updated=Now())


def mark_resized(run: Run[VolumeData]) -> None:
    """Mark the volume as active, with the size that the driver reported, after a failure too.

    A missing volume keeps the size of its row: staff see that it is missing (`Drift`).
    """
    known = {} if run.size is None else {"size": run.size}
    account_id = _row(run).values_list("account_id", flat=True).first()
    _row(run).update(status=Volume.Status.ACTIVE, **known, updated=Now())
    if account_id is not None:
        record(account_id, check=False, volumes=[run.data.volume_id])


def remove_volume(run: Run[VolumeData]) -> None:
    """Delete the row of a volume that is not there."""
    account_id = _row(run).values_list("account_id", flat=True).first()
    attachments.remove_volume(run.data.volume_id)
    if account_id is not None:
        record(account_id, check=False, failed=True, volumes=[run.data.volume_id])


# --- attaching a new one --------------------------------------------------------------------------------------


def await_idle_instance(run: Run[VolumeCreateData]) -> Outcome:
    """Wait until the instance that the volume was made for is idle. Do not wait if the volume is no longer attached
    there."""
    volume = _made_for(run).select_related("instance").first()
    if volume is not None and volume.instance is not None and is_busy(volume.instance):
        return Wait(TURN_SECONDS)
    return None


def begin_attachment(run: Run[VolumeCreateData]) -> None:
    """Enqueue the job that attaches the new volume to the instance that it was made for, if there is one.

    Raises `Busy` if another job of the instance was faster. Jobs of version 1 have attached the volume themselves.
    """
    if run.data.attach:
        mark_active(run)
        volume = _row(run).get()
        actor = Actor(volume.account_id, username=run.job.created_by)
        record_event(actor, "volume_attach", volume_ref(volume), instance_ref(run.instance))
        return
    found = _made_for(run).select_related("instance").first()
    if found is None or found.instance is None:
        return
    try:
        instance = lock_any(found.instance)
    except Missing:  # it was deleted just now, and the volume detached with that
        return
    locked = _made_for(run).select_for_update(no_key=True).first()
    if locked is None:
        return
    actor = Actor(locked.account_id, username=run.job.created_by)
    enqueue(
        "volume_attach",
        instance,
        actor,
        data=VolumeAttachData(volume_id=locked.pk),
        volume=locked,
        about=volume_ref(locked),
        secondary=instance_ref(instance),
    )


def _made_for(run: Run[VolumeCreateData]) -> QuerySet[Volume]:
    """The volume, while it is attached to the instance that it was made for."""
    return _row(run).filter(instance__isnull=False, instance=run.data.instance_id)


# --- attaching and detaching ----------------------------------------------------------------------------------


def await_turn(run: Run[VolumeAttachData]) -> Outcome:
    """Wait until no other job works on the volume, then make this job the volume's job.

    Raises `Fail` if the volume could not be made, or could not be detached from its previous instance.
    """
    attached = _row(run).values_list("instance_id", flat=True).first()
    if attached != run.job.instance_id:
        gone = not _row(run).exists()
        raise Fail("The volume could not be created." if gone else STILL_ATTACHED)
    earlier = Q(data__volume=run.data.volume_id, pk__lt=run.job.pk)
    taken = not _at_work(run, earlier) and store.join_volume(run.job, run.data.volume_id)
    return None if taken else Wait(TURN_SECONDS)


def plug(run: Run[VolumeData]) -> None:
    """Plug the volume into the machine, if the machine is on."""
    run.driver.plug(run.machine, _name(run), _row(run).values_list("label", flat=True).get())


def unplug(run: Run[VolumeData]) -> None:
    """Unplug the volume from the machine."""
    run.driver.unplug(run.machine, _name(run))


def detach_volume(run: Run[VolumeDetachData]) -> None:
    """Unplug the volume from the machine. If the instance was being deleted, the machine may be gone."""
    if run.data.instance_id is None:
        unplug(run)
    else:
        _unplug_if_there(run, run.data.instance_id)


def plug_again(run: Run[VolumeDetachData]) -> None:
    """Plug in again a volume that could not be unplugged, unless it should stay detached.

    It also stays detached if the machine or the volume is gone, or if another machine has the volume.
    """
    label = None if _stays_detached(run) else _row(run).values_list("label", flat=True).first()
    if label is not None:
        try:
            run.driver.plug(run.machine, _name(run), label)
            return
        except Refused:
            run.is_lost = True
    detach_volume(run)


def mark_detached(run: Run[VolumeData]) -> None:
    """Record that the volume is detached from the instance."""
    attachments.release(run.instance, [run.data.volume_id])


def mark_released(run: Run[VolumeDetachData]) -> None:
    """Record that the machine released the volume, unless the request of version 1 did so already."""
    if run.data.places is None:
        mark_detached(run)


def mark_attached_again(run: Run[VolumeDetachData]) -> None:
    """If the machine still has the volume, record that it is attached, even if another job waits to attach it."""
    if run.is_lost:
        mark_detached(run)
    elif run.data.places is not None and not _stays_detached(run):
        attachments.put_back(run.instance, run.data.volume_id, run.data.places)


def _stays_detached(run: Run[VolumeDetachData]) -> bool:
    """Return whether the instance is being deleted: the deletion superseded the job, or began before the job."""
    superseded = run.data.places is not None and run.data.undo_reason == Event.SUPERSEDED
    return superseded or run.data.instance_id is not None


# --- left behind by a boot --------------------------------------------------------------------------------------


def left_behind(run: Run[JobData], power: Power) -> list[int]:
    """Return the keys of volumes that no profile of the instance names and that its running machine does not have.

    The driver is asked only if there is a volume without a profile, which is rare.
    """
    if power != Power.ON or run.job.instance_id is None:
        return []
    found = attachments.find_loose(run.job.instance_id)
    if not found:
        return []
    plugged = [each.plugged for each in run.driver.inventory().machines if each.name == run.machine]
    return [pk for pk in found if plugged and volume_name(pk) not in plugged[0]]


def release_left_behind(run: Run[JobData], volume_ids: Sequence[int]) -> None:
    """Record that the machine was booted without these volumes. Any instance may have them from now on."""
    attachments.release_loose(run.instance, volume_ids)


# --- all of these ---------------------------------------------------------------------------------------------


def _at_work(run: Run[VolumeData], jobs: Q) -> bool:
    """Tell whether another job of volumes, one of `jobs`, has not ended. Its volume's row may be gone already."""
    unfinished = Job.objects.filter(jobs, kind__startswith="volume_", finished_at=None)
    return unfinished.exclude(pk=run.job.pk).exists()


def _unplug_if_there(run: Run[VolumeData], instance_id: int) -> None:
    """Unplug the volume from the machine of an instance. Do nothing if the instance is gone."""
    with suppress(InstanceGone):
        run.driver_of(instance_id).unplug(machine_name(instance_id), _name(run))


def _row(run: Run[VolumeData]) -> QuerySet[Volume]:
    return Volume.objects.filter(pk=run.data.volume_id)


def _maker(run: Run[VolumeData], original: int | None) -> Driver:
    """Return the driver that makes the volume.

    For a copy, this is the driver of the host whose machine has the original: only that host knows of writes to it.
    """
    having = None
    if original is not None:
        having = Volume.objects.filter(pk=original).values_list("instance_id", flat=True).first()
    return _driver(run) if having is None else run.driver_of(having)


def _driver(run: Run[VolumeData]) -> Driver:
    """Return the driver of a host that has the volume: the host of its instance, or any host of the region."""
    if run.job.instance_id is not None:
        return run.driver
    instance_id = _row(run).values_list("instance_id", flat=True).first()
    if instance_id is not None:
        return run.driver_of(instance_id)
    if run.data.region_id is None:
        return run.archives(SIMULATED)
    return run.driver_in(run.data.region_id)


def _name(run: Run[VolumeData]) -> str:
    return volume_name(run.data.volume_id)
