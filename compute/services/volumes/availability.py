"""The verbs that volumes allow now. Pages show the other verbs as unavailable, with the reason."""

from collections.abc import Collection, Mapping

from compute.models import Instance, Job, Volume
from compute.services.volumes.attachments import ATTACHED_ELSEWHERE
from compute.services.volumes.changes import refusal_of_status
from compute.services.volumes.volumes import ATTACHED
from config.errors import Busy, Invalid

NOT_ATTACHED = "The volume is not attached."


def jobs_of(volumes: Collection[Volume]) -> dict[int, Job]:
    """Return the job that works on each volume, by the volume's id, with its event. One query."""
    unfinished = Job.objects.filter(volume__in=[volume.pk for volume in volumes], finished_at=None)
    # of several jobs, the first one works and the others wait
    jobs = unfinished.select_related("event").order_by("-pk")
    return {job.volume_id: job for job in jobs if job.volume_id is not None}


def busy_instances(volumes: Collection[Volume]) -> set[int]:
    """Return the ids of the instances of the volumes on which a job works. One query."""
    attached = {volume.instance_id for volume in volumes}
    live = Job.objects.filter(instance__in=attached - {None}, state__in=Job.LIVE)
    return {pk for pk in live.values_list("instance_id", flat=True) if pk is not None}


def refusals(volume: Volume, *, busy: bool, instance_busy: bool) -> Mapping[str, str]:
    """Return the reasons why verbs are unavailable now, by the verb; empty texts if they are available.

    The reasons are those of the API. `busy` tells whether `jobs_of` has a job of the volume, `instance_busy`
    whether `busy_instances` has its instance. The volume is read with its instance and region.
    """
    instance, wait = volume.instance, str(Busy())
    # an instance that is being deleted gives its volumes away, whatever job works on it
    leaves = instance is not None and instance.status == Instance.Status.DELETING
    unsettled = instance is not None and (instance_busy or instance.status not in Instance.SETTLED)
    is_in_use = instance is not None and instance.status == Instance.Status.RUNNING
    waits_for_instance = wait if unsettled else ""
    waits_for_volume = wait if busy else ""
    return {
        "attach": str(Invalid(ATTACHED_ELSEWHERE)) if instance else "",
        "detach": (NOT_ATTACHED if instance is None else "")
        or ("" if leaves else refusal_of_status(volume, "detach") or waits_for_instance or waits_for_volume),
        "resize": refusal_of_status(volume, "resize") or waits_for_volume,
        "clone": refusal_of_status(volume, "clone") or volume.region.refusal() or waits_for_volume,
        "delete": ATTACHED if is_in_use else waits_for_instance,
    }
