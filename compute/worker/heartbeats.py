"""The heartbeats of workers and of the clock, each written by the process itself.

A worker's heartbeats are written by the loop that takes its tasks from the broker, and only while the loop is
connected: a worker that hangs, or whose broker is down, falls silent. The clock writes its heartbeats after its
ticks.
"""

import logging
import time
from typing import Any

from celery import bootsteps
from celery.beat import Scheduler
from celery.signals import worker_shutdown
from celery.worker.consumer import Consumer, Tasks
from django.db import Error

from compute.models import Heartbeat
from compute.services.heartbeats import EVERY, Pulse, own_connection
from compute.services.hosts.drift_records import LOOK_EVERYWHERE

log = logging.getLogger(__name__)


class WorkerHeartbeat(bootsteps.StartStopStep):
    """A step of a worker's consumer: it starts when tasks are taken, and stops when the broker is lost."""

    requires = (Tasks,)

    def __init__(self, parent: Consumer, **options: Any):
        super().__init__(parent, **options)
        self.timer: Any = None

    def start(self, parent: Consumer) -> None:
        pulse = worker_pulse()

        def beat() -> None:
            pulse.beat(tuple(parent.app.amqp.queues.consume_from), parent.pool.num_processes)

        beat()
        self.timer = parent.timer.call_repeatedly(EVERY, beat)

    def stop(self, parent: Consumer) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


_worker: list[Pulse] = []


def worker_pulse() -> Pulse:
    """The pulse of this worker process: one, however often the worker loses its broker."""
    if not _worker:
        _worker.append(Pulse(Heartbeat.Kind.WORKER))
        worker_shutdown.connect(end_worker)
    return _worker[0]


def end_worker(**kwargs: Any) -> None:
    worker_pulse().stop()


class Clock(Scheduler):
    """Celery's scheduler, which also writes a heartbeat after its ticks."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._pulse = Pulse(Heartbeat.Kind.CLOCK)
        self._next_beat = time.monotonic()
        self._ticks = False

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if not self._ticks:
            self._compare_hosts()
        pause = super().tick(*args, **kwargs)
        self._ticks = True
        if time.monotonic() >= self._next_beat:
            self._pulse.beat()
            self._next_beat = time.monotonic() + EVERY
        return min(pause, EVERY)

    def _compare_hosts(self) -> None:
        """Have every host compared with the rows: nobody knows what happened while no clock ran."""
        try:
            with own_connection() as using, using.cursor() as cursor:
                cursor.execute(LOOK_EVERYWHERE)
        except Error as error:
            log.warning("hosts are compared with the rows at their own times: %s", error)

    def close(self) -> None:
        if self._ticks:  # Celery closes a scheduler twice; one that only lists its entries never ticks
            self._pulse.stop()
            self._ticks = False
        super().close()
