"""The heartbeats of workers and of the clock, each written by the process itself.

A worker's heartbeats are written by the loop that takes its tasks from the broker, and only while the loop is
connected: a worker that hangs, or whose broker is down, falls silent. The clock writes its heartbeats after its
ticks.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import bootsteps
from celery.beat import Scheduler
from celery.signals import worker_shutdown
from celery.worker.consumer import Consumer, Tasks
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from compute.models import Heartbeat
from compute.services import heartbeats
from compute.services.heartbeats import EVERY, Process
from compute.services.hosts.drift_records import LOOK_EVERYWHERE
from config.version import VERSION

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2
ANSWER_MILLISECONDS = 4000


@contextmanager
def own_connection() -> Iterator[BaseDatabaseWrapper]:
    """A connection for one statement, which gives up soon where the database does not answer.

    The connection is closed again at once, by the thread that forks, so that no process that a worker forks
    inherits it.
    """
    own: BaseDatabaseWrapper = connection.copy()
    own.settings_dict["OPTIONS"] = {
        **own.settings_dict.get("OPTIONS", {}),
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": ANSWER_MILLISECONDS,
    }
    try:
        yield own
    finally:
        own.close()


class Pulse:
    """Writes the heartbeats of this process. A database that is down does not end it: the error is logged once."""

    def __init__(self, kind: str):
        self.process = Process(kind, VERSION)
        self.failing = False

    def beat(self, queues: tuple[str, ...] = ()) -> None:
        self._write(lambda using: heartbeats.record(self.process, queues, using))

    def stop(self) -> None:
        self._write(lambda using: heartbeats.stop(self.process, using))

    def _write(self, statement: Callable[[BaseDatabaseWrapper], None]) -> None:
        try:
            with own_connection() as using:
                statement(using)
        except Error as error:
            if not self.failing:
                log.warning("the heartbeat of this %s cannot be written: %s", self.process.kind, error)
            self.failing = True
        else:
            self.failing = False


class WorkerHeartbeat(bootsteps.StartStopStep):
    """A step of a worker's consumer: it starts when tasks are taken, and stops when the broker is lost."""

    requires = (Tasks,)

    def __init__(self, parent: Consumer, **options: Any):
        super().__init__(parent, **options)
        self.timer: Any = None

    def start(self, parent: Consumer) -> None:
        pulse = worker_pulse()

        def beat() -> None:
            pulse.beat(tuple(parent.app.amqp.queues.consume_from))

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
