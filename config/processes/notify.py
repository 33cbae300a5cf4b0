"""Notifies workers that there may be work. A notification may be lost, late or sent twice without harm."""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

_RETRY_AFTER_S = 1.0
_unreachable_until = 0.0


def notify(task: str, *args: int) -> None:
    """Send the Celery task of this name with `args`. An unreachable broker is no error: the clock notifies again.

    After a failure, nothing is sent for a second, so that a broker which is down does not slow the requests that
    notify.
    """
    global _unreachable_until
    if time.monotonic() < _unreachable_until:
        return
    try:
        current_app.send_task(task, args=args, ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        _unreachable_until = time.monotonic() + _RETRY_AFTER_S
        log.warning("the broker did not take %s%s: %s", task, args, error)
