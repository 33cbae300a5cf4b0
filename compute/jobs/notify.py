"""Notifies workers that a job may be due."""

from config.notify import notify as send

TASK = "compute.jobs.advance"


def notify(job_id: int) -> None:
    """Notify workers of a job. The notification may get lost: the sweep sends another."""
    send(TASK, job_id)
