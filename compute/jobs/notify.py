"""The bell of jobs: tells a worker that one may be due."""

from config import notify

TASK = "compute.jobs.advance"


def ring(job_id: int) -> None:
    """Send the bell for a job. It may be lost: the sweep rings again."""
    notify.ring(TASK, job_id)
