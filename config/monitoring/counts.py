"""Counts of the work that processes have done: requests, steps of jobs, and how long each took.

A process counts in its memory, which costs a microsecond. Every few seconds it adds its counts to Redis. The
processes of a machine share one hash there, so that any process can report the counts of all. A hash expires an
hour after the last addition of its machine. Redis may lose all counts. They then begin at 0 again, as after a
restart of a process, which Prometheus expects.

If the answer to an addition is lost, the process sends the same addition again. Redis knows the addition by its id
and counts it once, unless Redis could not be reached for longer than `COUNTS_TTL_SECONDS` in between.
"""

import logging
import os
import secrets
import socket
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
"""Seconds between two additions to Redis."""
COUNTS_TTL_SECONDS = 3600
"""Seconds for which a machine's counts are kept after the last addition."""
REDIS_TIMEOUT = 1.0
"""Seconds that Redis has to accept a connection, and to answer."""
SEPARATOR = "\x1f"
SUM = "sum"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""The upper limits, in seconds, of the ranges in which durations are counted."""

ADD = """
if redis.call('GET', KEYS[3]) == ARGV[1] then return 0 end
for i = 5, #ARGV, 2 do redis.call('HINCRBYFLOAT', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[3] - ARGV[4])
redis.call('SET', KEYS[3], ARGV[1], 'EX', ARGV[4])
return 1
"""
"""Adds a batch, unless it is the last one that its process has added.

The keys: the machine's counts, the machines, the process's last batch. The arguments: the batch's id, the machine,
the time, `COUNTS_TTL_SECONDS`, and names with their amounts.
"""

Key = tuple[str, ...]
"""A metric's name and the values of its labels. For a histogram, also the number of a bucket, or `SUM`."""


class Counts:
    """The counts of this process since its last addition to Redis. Safe to use from several threads."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start from zero: after a fork the counts are the parent's, and its lock may have been locked."""
        self.lock = threading.Lock()
        self.values: dict[Key, float] = {}

    def add(self, *found: tuple[Key, float]) -> None:
        with self.lock:
            for key, amount in found:
                self.values[key] = self.values.get(key, 0.0) + amount

    def take(self) -> dict[Key, float]:
        """Return the counts and reset them. The caller must add them to Redis."""
        with self.lock:
            taken, self.values = self.values, {}
        return taken


counts = Counts()
os.register_at_fork(after_in_child=counts.forget)


class Metric:
    """A named metric that is counted by the values of its labels. Each is made once, at import."""

    kind = ""

    def __init__(self, name: str, documentation: str, labels: Iterable[str] = ()):
        self.name, self.documentation, self.labels = name, documentation, tuple(labels)
        METRICS[name] = self


METRICS: dict[str, Metric] = {}
"""All metrics, by name."""


class Counter(Metric):
    """A number that only grows."""

    kind = "counter"

    def add(self, *labels: str, amount: float = 1.0) -> None:
        counts.add(((self.name, *labels), amount))


class Histogram(Metric):
    """Durations: the number of them in each of `BUCKETS`, and their sum."""

    kind = "histogram"

    def observe(self, seconds: float, *labels: str) -> None:
        counts.add(
            ((self.name, *labels, _BUCKET_NAMES[bisect_left(BUCKETS, seconds)]), 1.0),
            ((self.name, *labels, SUM), seconds),
        )


_BUCKET_NAMES = [str(number) for number in range(len(BUCKETS) + 1)]


def machines_key() -> str:
    """Return the key of the sorted set of machines, each with the time of its last addition."""
    return f"{settings.REDIS_PREFIX}metrics"


def machine_key(machine: str) -> str:
    return f"{settings.REDIS_PREFIX}metrics:{machine}"


def batch_key(machine: str) -> str:
    """Return the key of the id of the last batch that this process has added."""
    return f"{settings.REDIS_PREFIX}metrics:{machine}:{os.getpid()}"


def connect() -> "redis.Redis":
    """Return a Redis client with short timeouts."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=REDIS_TIMEOUT,
        socket_timeout=REDIS_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
    )


def store(values: Mapping[Key, float], machine: str | None = None, batch: str | None = None) -> None:
    """Add `values` to the counts of a machine, by default this one, all or none. Raises `redis.RedisError`.

    If a process stores its last `batch` again, with the same id, nothing is added.
    """
    name = machine or socket.gethostname()
    keys = machine_key(name), machines_key(), batch_key(name)
    amounts = [part for key, amount in values.items() for part in (SEPARATOR.join(key), repr(amount))]
    about = batch or secrets.token_hex(8), name, repr(time.time()), str(COUNTS_TTL_SECONDS)
    with connect() as client:
        client.eval(ADD, len(keys), *keys, *about, *amounts)


def stored() -> Iterator[tuple[str, dict[Key, float]]]:
    """Yield each machine with its counts. Raises `redis.RedisError`."""
    with connect() as client:
        for machine in sorted(client.zrange(machines_key(), 0, -1)):
            name = machine.decode()
            found = client.hgetall(machine_key(name))
            yield name, {tuple(key.decode().split(SEPARATOR)): float(value) for key, value in found.items()}


class Reporter:
    """Adds the counts of this process to Redis. While Redis cannot be reached, the counts stay in memory."""

    def __init__(self) -> None:
        self.failing = False
        self.ended = threading.Event()
        self.batch: tuple[str, dict[Key, float]] | None = None
        """The last batch sent, with its id, until Redis has answered.

        It is sent again unchanged, so that Redis knows it.
        """

    def report(self) -> None:
        if self.batch is not None:
            self._send(*self.batch)
        if self.batch is None:
            self.batch = secrets.token_hex(8), counts.take()
            self._send(*self.batch)

    def _send(self, batch: str, values: dict[Key, float]) -> None:
        try:
            store(values, batch=batch)
        except (redis.RedisError, OSError) as error:
            if not self.failing:
                log.warning("the counts of this process cannot be added to Redis: %s", error)
            self.failing = True
        else:
            self.failing, self.batch = False, None

    def start(self) -> None:
        """Report every `REPORT_SECONDS` seconds from now on, in a thread of its own."""
        threading.Thread(target=self._run, name="counts", daemon=True).start()

    def stop(self) -> None:
        """Report for the last time."""
        self.ended.set()
        self.report()

    def _run(self) -> None:
        while not self.ended.wait(REPORT_SECONDS):
            self.report()
