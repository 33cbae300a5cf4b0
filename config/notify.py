"""Bells: tell a worker that there may be work. One may be lost, late or rung twice without harm."""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

_DEAF_FOR = 1.0
_deaf_until = 0.0


def ring(task: str, *args: int) -> None:
    """Send a task of this name. A deaf broker is no error: the clock rings again when it hears.

    After a failure the next second's bells are not even tried, so that a broker which is down does not slow
    the requests that ring.
    """
    global _deaf_until
    if time.monotonic() < _deaf_until:
        return
    try:
        current_app.send_task(task, args=args, ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        _deaf_until = time.monotonic() + _DEAF_FOR
        log.warning("the broker does not hear %s%s: %s", task, args, error)
