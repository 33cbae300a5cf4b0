"""Giving up to undo: a job whose host is gone for good would be undoing for ever, and keep its instance busy."""

from typing import Any

from accounts.actors import Actor
from compute.jobs import queue
from compute.models import Host, Job
from config.errors import Invalid, Problems

OF_JOBS = ("host", "previous_host")
"""The keys of a job's data that name hosts."""


def give_up(actor: Actor, job: Job, reason: str) -> None:
    """Have the job end as failed, with what it could not undo left behind, as its error tells then.

    Rows become as if all had been undone: addresses and reservations are free again. So the caller has made sure
    that what was left behind cannot answer for them. Raises `Invalid` where the job is not undoing, or where the
    hosts that it needs answer: then what its error names can be mended.
    """
    problems = Problems()
    if job.state != Job.State.UNDOING:
        problems.add(None, "Only a job that is undoing can be given up. Cancel one that is active.")
    needed = hosts_of(job)
    if needed and all(host.unreachable_since is None for host in needed):
        names = ", ".join(host.label for host in needed)
        problems.add(None, f"Its host answers ({names}): mend what the error names, then run it now.")
    problems.raise_any()
    if not queue.give_up(job, f"Ended by support ({actor.username}): {reason}"):
        raise Invalid("It has ended meanwhile.")


def hosts_of(job: Job) -> list[Host]:
    """The hosts that a job needs: its instance's, and those that a move goes from and to, and the one that it waits
    for, as a clone for its source's; one query."""
    keys: set[Any] = {job.data.get(key) for key in OF_JOBS} | {job.waits_for_id}
    if job.instance is not None:
        keys.add(job.instance.host_id)
    return list(Host.objects.filter(pk__in=keys - {None}).order_by("pk"))
