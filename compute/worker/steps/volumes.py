"""The steps of volumes: making, growing and deleting one, and plugging it into the machine of its instance.

A volume is plugged in by the boot of a profile that names it, and by its attachment where the machine is on.
"""

from django.db.models import QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.drivers.base import DriverError, VolumeSpec
from compute.jobs.data import VolumeData, VolumeResizeData
from compute.jobs.definition import Outcome
from compute.models import Volume
from compute.models.volumes import volume_name
from compute.refs import instance_ref, volume_ref
from compute.services.volumes import attachments
from compute.worker.run import Run, until


def create_volume(run: Run[VolumeData]) -> Outcome:
    """Make the volume: empty, or as a copy of another one."""
    volume, original = _row(run).get(), run.data.copy_of
    copy_of = None if original is None else volume_name(original)
    spec = VolumeSpec(_name(run), volume.region_id, volume.size, volume.hardware_type, copy_of)
    return until(run.driver.create_volume(spec))


def delete_volume(run: Run[VolumeData]) -> None:
    """Delete the volume, made or half-made."""
    run.driver.delete_volume(_name(run))


def plug(run: Run[VolumeData]) -> None:
    """Plug the volume into the machine, if the machine is on."""
    run.driver.plug(run.machine, _name(run), _row(run).values_list("label", flat=True).get())


def unplug(run: Run[VolumeData]) -> None:
    """Unplug the volume from the machine."""
    run.driver.unplug(run.machine, _name(run))


def grow_volume(run: Run[VolumeResizeData]) -> Outcome:
    """Resize the volume to its new size."""
    outcome = until(run.driver.resize_volume(_name(run), run.data.size))
    if outcome is None:
        inspect_volume(run)
    return outcome


def inspect_volume(run: Run[VolumeData]) -> None:
    """Look up the size of a volume, which never shrinks again. Raises `DriverError` where the volume is missing."""
    run.size = run.driver.volume_size(_name(run))
    if run.size is None:
        raise DriverError("The volume is not there.")


def mark_active(run: Run[VolumeData]) -> None:
    """Mark the volume as active, and record its attachment as an event where it was made for an instance."""
    _row(run).update(status=Volume.Status.ACTIVE, updated=Now())
    if run.data.attach:
        volume = _row(run).get()
        actor = Actor(volume.account_id, username=run.job.created_by)
        record_event(actor, "volume_attach", volume_ref(volume), instance_ref(run.instance))


def mark_resized(run: Run[VolumeData]) -> None:
    """Mark the volume as active, with the size that the driver reported, after a failure too."""
    _row(run).update(status=Volume.Status.ACTIVE, size=run.size, updated=Now())


def mark_detached(run: Run[VolumeData]) -> None:
    """Record that the volume is detached from the instance."""
    attachments.release(run.instance, [run.data.volume_id])


def remove_volume(run: Run[VolumeData]) -> None:
    """Delete the row of a volume that is not there."""
    attachments.remove_volume(run.data.volume_id)


def _row(run: Run[VolumeData]) -> QuerySet[Volume]:
    return Volume.objects.filter(pk=run.data.volume_id)


def _name(run: Run[VolumeData]) -> str:
    return volume_name(run.data.volume_id)
