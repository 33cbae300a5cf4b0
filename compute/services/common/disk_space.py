"""Disk space of an instance: what its type has, and what they take or are about to take.

Whoever adds a disk or lets one grow asks here, under the lock of the instance's row that `lock_idle` takes, and
keeps it until the job is in the table. So of two requests at once the second sees what the first one took.
"""

from compute.models import Instance, Job


def taken(instance: Instance) -> int:
    """MB that the disks of an instance take, those not ready or being deleted included.

    One that a job resizes counts with the larger of its two sizes.
    """
    sizes = dict(instance.disks.values_list("pk", "size"))
    for data in Job.objects.filter(instance=instance, finished_at=None).values_list("data", flat=True):
        resized = data.get("disk")
        if isinstance(resized, dict) and resized["id"] in sizes:
            sizes[resized["id"]] = max(sizes[resized["id"]], resized["size"])
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
