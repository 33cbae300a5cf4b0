"""The steps of a change of type that a migration does not have: the disk that is resized along with it."""

from compute.jobs.definition import Outcome
from compute.machine_names import disk_name
from compute.worker.run import Run, until


def resize_disk(run: Run) -> Outcome:
    """Make the disk as large as the new type has room for."""
    return _resize(run, "size")


def restore_disk_size(run: Run) -> Outcome:
    """Make the disk as large as it was."""
    return _resize(run, "was")


def _resize(run: Run, size: str) -> Outcome:
    disk = run.data["disk"]
    name = disk_name(run.job.instance_id, disk["id"])
    return until(run.driver.resize_disk(run.machine, name, disk[size]))
