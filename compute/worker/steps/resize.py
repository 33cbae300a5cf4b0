"""The steps that resize a disk, alone or along with a change of type. A plain move does not have them."""

from compute.drivers.base import Refused
from compute.jobs.data import DiskResizeData, MoveData
from compute.jobs.definition import Outcome
from compute.machine_names import disk_name
from compute.worker.run import Run, until


def resize_disk(run: Run[DiskResizeData] | Run[MoveData]) -> Outcome:
    """Resize the disk to its new size."""
    return until(run.driver.resize_disk(run.machine, _name(run), run.data.disk_size))


def restore_disk_size(run: Run[DiskResizeData] | Run[MoveData]) -> Outcome:
    """Resize the disk to its previous size, if it is still there."""
    try:
        return until(run.driver.resize_disk(run.machine, _name(run), run.data.previous_disk_size))
    except Refused:
        if _name(run) in run.driver.disks(run.machine):
            raise
        return None


def _name(run: Run[DiskResizeData] | Run[MoveData]) -> str:
    assert run.data.disk_id is not None  # noqa: S101 - or the step was skipped
    return disk_name(run.job.instance_id, run.data.disk_id)
