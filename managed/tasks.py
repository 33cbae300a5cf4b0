"""The Celery tasks of managed monitoring, which the clock sends."""

from typing import Any

from celery import shared_task, signals

from config.processes.notify import notify
from managed.prober import loop
from managed.services import probing

MAX_PASSES = 3
"""The number of times that processes without capacity pass a notification on."""


@shared_task(name=probing.TASK_NAME, ignore_result=True, expires=60)
def probe(passes: int = MAX_PASSES) -> None:
    """Begin the checks that are due. A process without capacity for all of them passes the notification on."""
    if loop.here().begin_due() and passes:
        notify(probing.TASK_NAME, passes - 1)


@shared_task(name="managed.thin_measurements", ignore_result=True, expires=1800)
def thin_measurements() -> None:
    """Average measurements by the hour, and delete old ones."""
    probing.thin()


@signals.worker_process_shutdown.connect
def give_back(**kwargs: Any) -> None:
    """Release all leases when a process ends in order, after `--max-tasks-per-child` or with its worker."""
    loop.stop()
