"""Reads the queues of the broker without taking messages from them.

Redis keeps one list for each queue and step of priority. New messages are pushed at the head of a list, and workers
pop them from its tail, so the message at the tail is the oldest.
"""

import json
import time
from bisect import bisect
from dataclasses import dataclass

from django.conf import settings
from kombu.transport.redis import Channel
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

SENT = "sent"
"""The header of a message with the time at which it was sent, in seconds since 1970."""
TIMEOUT_SECONDS = 0.5
"""Seconds in which the broker must answer when all queues are read. A health check may be waiting."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages that wait in a queue: their number, and the seconds that the oldest has waited."""

    messages: int
    oldest: float


def backlogs() -> dict[str, Backlog] | None:
    """Return the backlog of each queue of tasks, or None if the broker does not answer in time."""
    names = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    try:
        with connect(TIMEOUT_SECONDS, TIMEOUT_SECONDS) as broker, broker.pipeline(transaction=False) as pipe:
            for name in names:
                for key in list_keys(name):
                    pipe.llen(key)
                    pipe.lindex(key, -1)
            found = iter(pipe.execute())
    except (RedisError, OSError):
        return None
    now = time.time()
    return {name: _backlog([(next(found), next(found)) for _ in list_keys(name)], now) for name in names}


def _backlog(lists: list[tuple[int, bytes | None]], now: float) -> Backlog:
    """Add up the lists of a queue, each with its length and its last message."""
    ages = [age(message, now) for _, message in lists if message is not None]
    return Backlog(sum(length for length, _ in lists), max(ages, default=0.0))


def age(message: bytes, now: float) -> float:
    """Return the seconds that a message has waited. 0 for a message of an earlier release, which has no time.

    Its sender may be on another machine, whose clock differs.
    """
    sent = json.loads(message).get("headers", {}).get(SENT)
    return max(0.0, now - sent) if sent is not None else 0.0


def waiting(queue: str, priority: int | None = None) -> int | None:
    """Return the number of messages that wait in a queue, or None if the broker does not answer in time.

    `priority` limits the count to the list with messages of this priority. Messages that a worker has already
    received are not counted.
    """
    keys = list_keys(queue) if priority is None else [list_key(queue, priority)]
    limits = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    try:
        broker = connect(limits["socket_connect_timeout"], limits["socket_timeout"])
        with broker, broker.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.llen(key)
            return sum(pipe.execute())
    except (RedisError, OSError):
        return None


def list_keys(queue: str) -> list[str]:
    """Return the keys of all lists of a queue, in the order in which workers pop from them."""
    return [list_key(queue, step) for step in Channel.priority_steps]


def list_key(queue: str, priority: int) -> str:
    """Return the key of the list with messages of this priority. Several priorities share a list."""
    step = Channel.priority_steps[bisect(Channel.priority_steps, priority) - 1]
    return f"{settings.REDIS_PREFIX}{queue}{Channel.sep}{step}" if step else f"{settings.REDIS_PREFIX}{queue}"


def connect(connect_seconds: float, answer_seconds: float) -> Redis:
    """Return a client of the broker that tries once, within these limits."""
    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=connect_seconds,
        socket_timeout=answer_seconds,
        retry=Retry(NoBackoff(), 0),
    )
