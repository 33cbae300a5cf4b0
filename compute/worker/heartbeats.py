"""The heartbeats of workers and of the clock, each written by the process itself.

A worker's heartbeats are written when it takes a message that it sent to itself (`compute.worker.consumption`), or
while all its slots are busy. A worker that hangs, whose broker is down, or that takes no messages, falls silent.
The clock writes its heartbeats after its ticks.
"""

import logging
import os
import threading
import time
from typing import Any

from celery import bootsteps
from celery.beat import Scheduler
from celery.platforms import EX_FAILURE
from celery.signals import worker_shutdown
from celery.worker import state
from celery.worker.consumer import Consumer, Tasks
from django.db import Error
from kombu import Consumer as MessageConsumer
from kombu import Exchange, Message, Producer, Queue
from kombu.common import ignore_errors

from compute.models import Heartbeat
from compute.services.heartbeats import BEAT_SECONDS, Pulse, own_connection
from compute.services.hosts.drift_records import COMPARE_EVERYWHERE
from compute.worker.consumption import CHECK_EVERY, Consumption, Verdict
from compute.worker.stopping import note_stop

log = logging.getLogger(__name__)

END_SECONDS = 10.0
"""Seconds that a worker which ends by itself waits for the steps that run."""
QUEUE_SECONDS = 60
"""Seconds that the broker keeps the last message of a worker that is gone."""


class WorkerHeartbeat(bootsteps.StartStopStep):
    """A step of a worker's consumer: it starts when tasks are taken, and stops when the broker is lost."""

    requires = (Tasks,)

    def __init__(self, parent: Consumer, **options: Any):
        super().__init__(parent, **options)
        self.consumption = Consumption()
        self.timer: Any = None
        self.messages: MessageConsumer | None = None
        self.next_beat = 0.0

    def start(self, parent: Consumer) -> None:
        self.consumption.connected()
        channel = parent.task_consumer.channel
        queue = own_queue()
        self.messages = MessageConsumer(channel, [queue], on_message=lambda message: self.take(parent, message))
        self.messages.consume()
        producer = Producer(channel, routing_key=queue.name, serializer="json")
        self.send(producer)
        self.timer = parent.timer.call_repeatedly(CHECK_EVERY, self.check, (parent, producer))

    def stop(self, parent: Consumer) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.messages is not None:
            ignore_errors(parent, self.messages.cancel)
            self.messages = None

    def send(self, producer: Producer) -> None:
        producer.publish({})
        self.consumption.sent(time.monotonic())

    def take(self, parent: Consumer, message: Message) -> None:
        message.ack()
        self.renew(parent)

    def renew(self, parent: Consumer) -> None:
        """Note that the worker works, and record a heartbeat if the last one is old enough."""
        self.consumption.took()
        if time.monotonic() >= self.next_beat:
            worker_pulse().beat(tuple(parent.app.amqp.queues.consume_from), parent.pool.num_processes)
            self.next_beat = time.monotonic() + BEAT_SECONDS

    def check(self, parent: Consumer, producer: Producer) -> None:
        """Send the next message, unless the worker is busy. Reconnect or end a worker that takes no messages.

        To reconnect, raises an error of the connection, as if the broker had closed it.
        """
        if len(state.active_requests) >= parent.pool.num_processes:
            self.renew(parent)
        verdict = self.consumption.check(time.monotonic())
        if verdict is Verdict.RECONNECT:
            log.error("this worker takes no messages from the broker: it reconnects")
            raise ConnectionResetError("no messages came back from the broker")
        if verdict is Verdict.END:
            log.critical("this worker takes no messages from the broker after it reconnected: it ends")
            end()
            return
        self.send(producer)


def end() -> None:
    """Stop the worker in order, and end it if that takes too long: a process of its pool may hang.

    Steps that run go on in the processes of the pool. Their leases protect them like those of a killed worker.
    """
    note_stop()
    state.should_stop = EX_FAILURE
    bound = threading.Timer(END_SECONDS, os._exit, [EX_FAILURE])
    bound.daemon = True
    bound.start()


def own_queue() -> Queue:
    """Return the queue through which this worker process sends messages to itself. No exchange is bound to it."""
    name = f"heartbeat.{worker_pulse().process.id}"
    return Queue(name, Exchange(""), routing_key=name, expires=QUEUE_SECONDS)


_worker: list[Pulse] = []


def worker_pulse() -> Pulse:
    """Return the pulse of this worker process: the same one after each loss of the broker."""
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
            self._next_beat = time.monotonic() + BEAT_SECONDS
        return min(pause, BEAT_SECONDS)

    def _compare_hosts(self) -> None:
        """Schedule a comparison of every host with the rows, because no clock watched them before."""
        try:
            with own_connection() as using, using.cursor() as cursor:
                cursor.execute(COMPARE_EVERYWHERE)
        except Error as error:
            log.warning("a comparison of all hosts could not be scheduled: %s", error)

    def close(self) -> None:
        if self._ticks:  # Celery closes a scheduler twice; one that only lists its entries never ticks
            self._pulse.stop()
            self._ticks = False
        super().close()
