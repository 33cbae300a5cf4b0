"""Giving up an undo: if a job's host is gone for good, the job would undo for ever and keep its instance busy."""

from typing import Any

from accounts.actors import Actor
from compute.jobs import queue
from compute.models import Host, Job
from config.errors import Invalid, Problems

OF_JOBS = ("host", "previous_host")
"""The keys of a job's data that name hosts."""


def give_up(actor: Actor, job: Job, reason: str) -> None:
    """Let the job end as failed, and leave behind what it could not undo, which its error then names.

    Rows change as if all steps had been undone: addresses and reservations are free again. So the caller must make
    sure that objects left behind on a host cannot use these addresses. Raises `Invalid` if the job is not undoing,
    or if the hosts that it needs answer: then the cause of its error can be repaired.
    """
    problems = Problems()
    if job.state != Job.State.UNDOING:
        problems.add(None, "Undoing can be stopped only if the job is undoing. Cancel an active job instead.")
    needed = hosts_of(job)
    if _all_answer(needed):
        names = ", ".join(host.label for host in needed)
        problems.add(None, f"All hosts of the job answer ({names}). Correct the error, then run the job now.")
    problems.raise_any()
    if not queue.give_up(job, f"Ended by support ({actor.username}): {reason}"):
        raise Invalid("The job has already ended.")


def is_possible(job: Job) -> bool:
    """Tell whether staff may give up the job, as it was read; one query if it is undoing, otherwise none."""
    return job.state == Job.State.UNDOING and not _all_answer(hosts_of(job))


def _all_answer(needed: list[Host]) -> bool:
    """Tell whether all hosts that a job needs answer. False if the job needs no host."""
    return bool(needed) and all(host.unreachable_since is None for host in needed)


def hosts_of(job: Job) -> list[Host]:
    """Return the hosts that a job needs; one query.

    These are the host of its instance, both hosts of a move, and the host that the job waits for, such as a clone's
    source host.
    """
    keys: set[Any] = {job.data.get(key) for key in OF_JOBS} | {job.waits_for_id}
    if job.instance is not None:
        keys.add(job.instance.host_id)
    return list(Host.objects.filter(pk__in=keys - {None}).order_by("pk"))
