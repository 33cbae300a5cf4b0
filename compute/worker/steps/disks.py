"""The steps of jobs on one disk of an instance: its other disks stay as they are.

The disk's own status shows that a job works on it. The last settle writes the status afterwards.
"""

from django.db.models import QuerySet
from django.db.models.functions import Now

from compute.drivers.base import DiskSpec
from compute.jobs.data import DiskData, DiskDeleteData, DiskResizeData
from compute.jobs.definition import Outcome
from compute.machine_names import disk_name
from compute.models import Disk
from compute.worker.run import Run, until
from compute.worker.steps.basic import disk_spec


def create_disk(run: Run[DiskData]) -> Outcome:
    """Make the disk: empty, from its image, or as a copy of another one."""
    disk = _row(run).select_related("image").get()
    return until(run.driver.create_disk(run.machine, _spec(run, disk)))


def delete_disk(run: Run[DiskData]) -> None:
    """Delete the disk, made or half-made."""
    run.driver.delete_disk(run.machine, _name(run))


def inspect_disks(run: Run[DiskData]) -> None:
    """Find out whether the disk that could not be deleted is still there."""
    run.present = run.driver.disks(run.machine)


def set_password(run: Run[DiskData]) -> None:
    """Set root's password in the system on the disk."""
    run.driver.set_password(run.machine, _name(run), run.secrets()["root_pass"])


def mark_ready(run: Run[DiskData]) -> None:
    """Mark the disk as ready."""
    _row(run).update(status=Disk.Status.READY, updated=Now())


def mark_resized(run: Run[DiskResizeData]) -> None:
    """Mark the disk as ready, with its new size."""
    _row(run).update(status=Disk.Status.READY, size=run.data.disk_size, updated=Now())


def remove_disk(run: Run[DiskData]) -> None:
    """Delete the row of a disk that is not there, and with it the disk's slots in profiles."""
    _row(run).delete()


def restore_status(run: Run[DiskDeleteData]) -> None:
    """Restore the disk's previous status, or delete its row if the disk was deleted after all."""
    if _name(run) in run.present:
        _row(run).update(status=run.data.previous_status, updated=Now())
    else:
        remove_disk(run)


def _row(run: Run[DiskData]) -> QuerySet[Disk]:
    return Disk.objects.filter(pk=run.data.disk_id)


def _name(run: Run[DiskData]) -> str:
    return disk_name(run.job.instance_id, run.data.disk_id)


def _spec(run: Run[DiskData], disk: Disk) -> DiskSpec:
    original = run.data.copy_of
    if original is None:
        return disk_spec(run, disk)
    copied = (run.machine, disk_name(run.job.instance_id, original))
    return DiskSpec(_name(run), disk.size, disk.filesystem, copy_of=copied)
