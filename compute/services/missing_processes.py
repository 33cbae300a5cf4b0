"""Required processes that do not run, by their heartbeats, or that leave messages waiting."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Max, Q
from django.utils.timezone import now
from redis import Redis
from redis.exceptions import RedisError

from compute.models import Heartbeat
from compute.services.heartbeats import MAX_SILENCE, alive
from config.processes import queues

BROKER_SECONDS = 0.5
"""Seconds within which the broker must answer. It is asked only if no worker has a fresh heartbeat."""

LATE_SECONDS = 60
"""The age in seconds of a queue's oldest message which shows that workers are stuck, or too few."""

_started = time.monotonic()


def _note_start() -> None:
    global _started
    _started = time.monotonic()


os.register_at_fork(after_in_child=_note_start)  # of make serve, which imports this module before it forks


@dataclass(frozen=True, slots=True)
class Missing:
    """A kind of process that does not run, ``web``, ``broker``, ``worker`` or ``clock``, and the consequence.

    The component ``queue`` is reported if workers run and leave messages waiting.
    """

    component: str
    text: str


def missing() -> Iterator[Missing]:
    """Yield the kinds of process of which none runs. One query, and one request to the broker.

    Web processes are reported only if the last of them fell silent. Behind a server that is not ours they have no
    heartbeats, and an operator who stops all of them does so on purpose.
    """
    if starting():
        return
    worker, clock, web = (Q(kind=kind) for kind in ("worker", "clock", "web"))
    found = Heartbeat.objects.aggregate(
        workers=Count("pk", filter=worker & alive()),
        for_jobs=Count("pk", filter=worker & alive() & Q(queues__contains=["celery"])),
        for_timers=Count("pk", filter=worker & alive() & Q(queues__contains=["clock"])),
        worker_seen=Max("seen", filter=worker),
        clocks=Count("pk", filter=clock & alive()),
        clock_seen=Max("seen", filter=clock),
        webs=Count("pk", filter=web & alive()),
        web_silent=Max("seen", filter=web & Q(stopped=None)),
        web_stopped=Max("stopped", filter=web),
    )
    silent, stopped = found["web_silent"], found["web_stopped"]
    if not found["webs"] and silent and (stopped is None or silent > stopped):
        yield Missing("web", f"No web process runs: no request is answered ({last(found['web_silent'])})")
    if not found["workers"] and not broker_answers():
        text = f"The broker (Redis) does not answer: jobs wait ({last(found['worker_seen'], 'worker')})"
        yield Missing("broker", text)
    elif not found["workers"]:
        yield Missing("worker", f"No worker runs: jobs wait ({last(found['worker_seen'])})")
    elif not found["for_jobs"]:
        yield Missing("worker", "No worker serves the queue celery: jobs wait")
    elif not found["for_timers"]:
        yield Missing("worker", "No worker serves the queue clock: regular work waits")
    else:
        yield from late_queues()
    if not found["clocks"]:
        text = f"No clock runs: no job is retried, and no regular work starts ({last(found['clock_seen'])})"
        yield Missing("clock", text)


def late_queues() -> Iterator[Missing]:
    """Yield one entry for all queues whose oldest message is too old. Yields none if the broker does not answer."""
    late = {name: each for name, each in (queues.backlogs() or {}).items() if each.oldest >= LATE_SECONDS}
    texts = [
        f"{each.messages:,} in the queue {name}, the oldest for {int(each.oldest // 60)} min"
        for name, each in late.items()
    ]
    if texts:
        yield Missing("queue", f"Messages wait: {'; '.join(texts)}. Workers are stuck, or there are too few")


def starting() -> bool:
    """Tell whether this process has just started: other processes may have started too, and not sent heartbeats
    yet."""
    return time.monotonic() - _started < MAX_SILENCE.total_seconds()


def broker_answers() -> bool:
    try:
        with Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=BROKER_SECONDS, socket_timeout=BROKER_SECONDS
        ) as broker:
            return bool(broker.ping())
    except (RedisError, OSError):
        return False


def last(seen: datetime | None, subject: str = "") -> str:
    """Return a text that says when the last process was seen; `subject` names its kind."""
    name = f"last {subject} seen" if subject else "last seen"
    return f"{name} {moment_of(seen)}" if seen else f"no {subject or 'one'} was ever seen".replace("no one", "none")


def moment_of(time: datetime) -> str:
    """Return a moment in UTC, with its day if that is not today: ``14:02 UTC``, ``2030-01-31 14:02 UTC``."""
    today = time.date() == now().date()
    return f"{time:%H:%M} UTC" if today else f"{time:%Y-%m-%d %H:%M} UTC"
