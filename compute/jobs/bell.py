"""The bell: tells a worker that a job may be due. It may be lost, late or rung twice without harm."""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

TASK = "compute.jobs.advance"
_DEAF_FOR = 1.0
_deaf_until = 0.0


def ring(job_id: int) -> None:
    """Send the bell for a job. A deaf broker is no error: the sweep rings again when it hears.

    After a failure the next second's bells are not even tried, so that a broker which is down does not slow
    the requests that enqueue.
    """
    global _deaf_until
    if time.monotonic() < _deaf_until:
        return
    try:
        current_app.send_task(TASK, args=(job_id,), ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        _deaf_until = time.monotonic() + _DEAF_FOR
        log.warning("the broker does not hear job %s: %s", job_id, error)
