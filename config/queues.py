"""Reads the queues of the broker without taking messages from them.

Redis keeps one list for each queue and step of priority. New messages are pushed at the head of a list, and workers
pop them from its tail.
"""

from bisect import bisect

from django.conf import settings
from kombu.transport.redis import Channel
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry


def waiting(queue: str, priority: int | None = None) -> int | None:
    """Return the number of messages that wait in a queue, or None if the broker does not answer in time.

    `priority` limits the count to the list that messages of this priority are in. Messages that a worker has
    already taken are not counted.
    """
    keys = list_keys(queue) if priority is None else [list_key(queue, priority)]
    try:
        with connect() as broker, broker.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.llen(key)
            return sum(pipe.execute())
    except (RedisError, OSError):
        return None


def list_keys(queue: str) -> list[str]:
    """Return the keys of all lists of a queue, in the order in which workers pop from them."""
    return [list_key(queue, step) for step in Channel.priority_steps]


def list_key(queue: str, priority: int) -> str:
    """Return the key of the list that messages of this priority are in. Several priorities share a list."""
    step = Channel.priority_steps[bisect(Channel.priority_steps, priority) - 1]
    return f"{settings.REDIS_PREFIX}{queue}{Channel.sep}{step}" if step else f"{settings.REDIS_PREFIX}{queue}"


def connect() -> Redis:
    """Return a client of the broker with the short time limits of those who send notifications."""
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=options["socket_connect_timeout"],
        socket_timeout=options["socket_timeout"],
        retry=Retry(NoBackoff(), 0),
    )
