"""Notifies workers that a job may be due."""

from django.conf import settings

from config.processes.notify import notify as send
from config.processes.queues import waiting

TASK_NAME = "compute.worker.advance"


def notify(job_id: int) -> None:
    """Notify workers of a job. If the notification is lost, the sweep sends another."""
    send(TASK_NAME, job_id)


def count_waiting() -> int | None:
    """Return the number of notifications that wait in the broker, or None if the broker does not answer."""
    return waiting("celery", settings.JOB_PRIORITY)
