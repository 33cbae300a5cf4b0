"""The events of the jobs that make images."""

from collections.abc import Iterable

from accounts.models import Event
from compute.models import Image, Job
from compute.services.images.images import MAKERS


def events_of(images: Iterable[Image]) -> dict[int, Event]:
    """Return the events of the jobs that are making these images, by the images' numbers. One query, or none if no
    image is being created.
    """
    numbers = [image.number for image in images if image.status == Image.Status.CREATING]
    if not numbers:
        return {}
    jobs = Job.objects.filter(state__in=Job.LIVE, kind__in=MAKERS, data__image_number__in=numbers)
    found = jobs.select_related("event")
    return {job.data["image_number"]: job.event for job in found if job.event is not None}
