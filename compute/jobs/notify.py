"""Notifies workers that a job may be due."""

from config.notify import notify as send

TASK = "compute.jobs.advance"


def notify(job_id: int) -> None:
    """Notify of a job. It may get lost: the sweep notifies again."""
    send(TASK, job_id)
