"""Disk space of an instance: what its type has, and what they take or are about to take.

Whoever adds a disk or lets one grow asks here, under the lock of the instance's row that `lock_idle` takes, and
keeps it until the job is in the table. So of two requests at once the second sees what the first one took.
"""

from compute.jobs.data import DiskResizeData, MoveData
from compute.models import Instance, Job

RESIZING: dict[str, type[DiskResizeData] | type[MoveData]] = {
    "disk_resize": DiskResizeData, "resize": MoveData, "mutate": MoveData,
}  # fmt: skip
"""The kinds of job that may change the size of a disk, each with what it carries."""


def taken(instance: Instance) -> int:
    """MB that the disks of an instance take, those not ready or being deleted included.

    One that a job resizes counts with the larger of its two sizes.
    """
    sizes = dict(instance.disks.values_list("pk", "size"))
    jobs = Job.objects.filter(instance=instance, finished_at=None, kind__in=RESIZING)
    for kind, stored in jobs.values_list("kind", "data"):
        data = RESIZING[kind].from_json(stored)
        if data.disk_id in sizes:
            sizes[data.disk_id] = max(sizes[data.disk_id], data.disk_size)
    return sum(sizes.values())


def left(instance: Instance) -> int:
    """MB that more disks may take; none where they are over already."""
    return max(0, instance.type.disk - taken(instance))


def shortage(instance: Instance, more: int) -> str | None:
    """Why the disks of a locked instance cannot take `more` MB, as a sentence; None where they can."""
    there = left(instance)
    if more <= there:
        return None
    return f"This needs {more} MB, and the compute has {there} of its {instance.type.disk} MB left."
