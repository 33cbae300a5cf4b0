"""Disk space of an instance: what its type allows, and what its disks take or are about to take.

A service that adds a disk or grows one asks here under the instance's row lock (`lock_any`), and keeps the lock
until its job is in the table. So of two requests at once the second sees the space that the first one took.
"""

from compute.jobs.data import DiskResizeData, MoveData
from compute.models import Instance, InstanceType, Job

RESIZING: dict[str, type[DiskResizeData] | type[MoveData]] = {
    "disk_resize": DiskResizeData, "resize": MoveData, "mutate": MoveData,
}  # fmt: skip
"""The kinds of job that may change the size of a disk, each with what it carries."""

TOO_SMALL = "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller."
"""The reason where a type is too small for the disks, which clients know; `too_small` adds advice."""


def too_small(used: int, plan: InstanceType) -> str:
    """Why disks that take `used` MB cannot be on an instance of this type, as a sentence."""
    return f"{TOO_SMALL} They need {used} MB, and the type has {plan.disk} MB."


def taken(instance: Instance) -> int:
    """MB that all disks of the instance take, those not ready or being deleted included.

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
    """MB that further disks may take; 0 where the disks exceed the type already."""
    return max(0, instance.type.disk - taken(instance))


def shortage(instance: Instance, more: int) -> str | None:
    """Why the disks of a locked instance cannot take `more` MB, as a sentence; None where they can."""
    there = left(instance)
    if more <= there:
        return None
    return f"This needs {more} MB, and the compute has {there} of its {instance.type.disk} MB left."
