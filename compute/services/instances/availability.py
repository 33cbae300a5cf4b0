"""The verbs that an instance allows now. Pages show the other verbs as unavailable, with the reason."""

from collections.abc import Mapping

from django.db.models import QuerySet

from compute.jobs.definition import KINDS
from compute.jobs.queue import refusal
from compute.models import Instance, Job


def live_jobs(instance: Instance) -> QuerySet[Job]:
    return Job.objects.filter(instance=instance, state__in=Job.LIVE)


def is_busy(instance: Instance) -> bool:
    """Tell whether a job of the instance is live. One query."""
    return live_jobs(instance).exists()


def refusals(instance: Instance, *, busy: bool) -> Mapping[str, str]:
    """Return the reasons why jobs cannot start on the instance now, by the name of their kind; empty texts if they
    can.

    The reasons are those of the API. `busy` is the result of `is_busy`, which lists read for many instances at
    once.
    """
    return {name: refusal(name, instance.status, busy=busy) for name in KINDS}
