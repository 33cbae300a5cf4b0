"""Disk space of an instance: the limit of its type, and the space that its disks take or are about to take.

A service that adds or enlarges a disk calls this module under the instance's row lock (`lock_any`), and keeps the
lock until its job is in the table. So of two requests at once, the second counts the space that the first one took.
"""

from compute.jobs.data import DiskResizeData, MoveData
from compute.models import Instance, InstanceType, Job

RESIZING: dict[str, type[DiskResizeData] | type[MoveData]] = {
    "disk_resize": DiskResizeData, "resize": MoveData, "mutate": MoveData,
}  # fmt: skip
"""The kinds of job that may change the size of a disk, each with the class of its data."""

TOO_SMALL = "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller."
"""The reason if a type is too small for the disks, which clients know; `too_small` adds advice."""


def too_small(used: int, plan: InstanceType) -> str:
    """Return the reason why disks of `used` MB do not fit this type, as a sentence."""
    return f"{TOO_SMALL} They need {used} MB, and the type has {plan.disk} MB."


def taken(instance: Instance) -> int:
    """Return the MB that all disks of the instance take, including disks that are not ready or being deleted.

    A disk that a job resizes counts with the larger of its two sizes.
    """
    sizes = dict(instance.disks.values_list("pk", "size"))
    jobs = Job.objects.filter(instance=instance, finished_at=None, kind__in=RESIZING)
    for kind, stored in jobs.values_list("kind", "data"):
        data = RESIZING[kind].from_json(stored)
        if data.disk_id in sizes:
            sizes[data.disk_id] = max(sizes[data.disk_id], data.disk_size)
    return sum(sizes.values())


def left(instance: Instance) -> int:
    """Return the MB that further disks may take; 0 if the disks exceed the type already."""
    return max(0, instance.type.disk - taken(instance))


def shortage(instance: Instance, more: int) -> str | None:
    """Return the reason why the disks of a locked instance cannot take `more` MB, as a sentence; None if they
    can."""
    there = left(instance)
    if more <= there:
        return None
    return f"This needs {more} MB, and the compute has {there} of its {instance.type.disk} MB left."
