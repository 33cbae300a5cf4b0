"""The steps of a change of type that a migration does not have: the disk that is resized along with it."""

from compute.jobs.data import DiskResizeData, MoveData
from compute.jobs.definition import Outcome
from compute.machine_names import disk_name
from compute.worker.run import Run, until


def resize_disk(run: Run[DiskResizeData] | Run[MoveData]) -> Outcome:
    """Make the disk as large as the new type has space for."""
    return _resize(run, run.data.disk_size)


def restore_disk_size(run: Run[DiskResizeData] | Run[MoveData]) -> Outcome:
    """Make the disk as large as it was."""
    return _resize(run, run.data.previous_disk_size)


def _resize(run: Run[DiskResizeData] | Run[MoveData], size: int) -> Outcome:
    assert run.data.disk_id is not None  # noqa: S101 - or the step was skipped
    name = disk_name(run.job.instance_id, run.data.disk_id)
    return until(run.driver.resize_disk(run.machine, name, size))
