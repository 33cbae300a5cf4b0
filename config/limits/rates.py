"""Rate limits, exact across processes: all limits of a request are checked and counted in one round trip.

A request counts against the limits of its user, and against one limit that all users of an account share. A request
without a token counts against the limits of its address.

A window starts at its first request. If one limit refuses a request, no limit counts it. While Redis cannot be
reached, each process counts by the same rule in its own memory.
"""

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Protocol

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.limits.metering import Meter
from config.web.headers import Headers, prepared

logger = logging.getLogger("config.limits.rates")

SCRIPT = """
local fits = 1
local found = {}
for i, key in ipairs(KEYS) do
    local count = tonumber(redis.call('GET', key) or '0')
    if count >= tonumber(ARGV[2 * i - 1]) then fits = 0 end
    found[i] = count
end
local answer = {fits}
for i, key in ipairs(KEYS) do
    if fits == 1 then
        found[i] = redis.call('INCR', key)
        if found[i] == 1 then redis.call('PEXPIRE', key, ARGV[2 * i]) end
    end
    local left = redis.call('PTTL', key)
    if left < 0 then left = tonumber(ARGV[2 * i]) end
    answer[2 * i] = found[i]
    answer[2 * i + 1] = left
end
return answer
"""
DIGEST = hashlib.sha1(SCRIPT.encode()).hexdigest()  # noqa: S324 - how Redis names scripts
CONNECT_WITHIN, ANSWER_WITHIN = 0.25, 0.5
"""Seconds to wait for a connection to Redis, and for an answer.

After that Redis counts as unreachable: a limit is not worth the wait.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` requests in `window` seconds."""

    name: str
    count: int
    window: int
    per_endpoint: bool = False
    per_account: bool = False
    """Whether all users of an account share the count."""
    arguments: tuple[bytes, bytes] = field(init=False, repr=False, compare=False)
    """The count and the milliseconds of the window, in the format of Redis."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", (b"%d" % self.count, b"%d" % (self.window * 1000)))

    @classmethod
    def parse(cls, name: str, text: str, *, per_endpoint: bool = False, per_account: bool = False) -> "Limit":
        """Read a setting such as ``1600/120``."""
        count, _, window = text.partition("/")
        return cls(name, int(count), int(window), per_endpoint, per_account)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a request, with the count of its tightest limit. `reset` is in seconds from now."""

    allowed: bool
    limit: int
    remaining: int
    reset: float

    def headers(self) -> Headers:
        headers = {
            "X_RateLimit_Limit": str(self.limit),
            "X_RateLimit_Remaining": str(self.remaining),
            "X_RateLimit_Reset": str(math.ceil(time.time() + self.reset)),
        }
        if not self.allowed:
            headers["Retry_After"] = str(max(1, math.ceil(self.reset)))
        return prepared(**headers)


Counts = tuple[bool, list[tuple[int, float]]]
"""Whether the request fits. Also, for each limit: the requests counted and the seconds left of its window."""


class Store(Protocol):
    """A store of counters. `send` asks it to count a request, and returns a function that awaits the answer."""

    def send(self, keys: Sequence[str], limits: Sequence[Limit]) -> Callable[[], Counts]: ...


class RedisStore(threading.local):
    """Counters in Redis.

    Each thread has a connection of its own, and sends its two commands over it. The library's client, with its
    pool, retries and hooks, would double the cost of a small API request.
    """

    def __init__(self, url: str):
        self.pool = redis.ConnectionPool.from_url(
            url, socket_timeout=ANSWER_WITHIN, socket_connect_timeout=CONNECT_WITHIN, retry=Retry(NoBackoff(), 0)
        )
        self.connection = self.pool.make_connection()

    def send(self, keys: Sequence[str], limits: Sequence[Limit]) -> Callable[[], Counts]:
        arguments: list[str | int | bytes] = [len(keys), *keys]
        for limit in limits:
            arguments += limit.arguments
        try:
            self.connection.send_command("EVALSHA", DIGEST, *arguments)
        except redis.ConnectionError:
            # The server was restarted meanwhile: this connection is dead, but a new one may work.
            self.connection.send_command("EVALSHA", DIGEST, *arguments)
        return partial(self.receive, arguments)

    def receive(self, arguments: Sequence[str | int | bytes]) -> Counts:
        try:
            answer = self.connection.read_response()
        except (redis.ConnectionError, redis.exceptions.NoScriptError):
            # The server was restarted after the sending, or is new. It has not run the script, and may not have it.
            self.connection.send_command("EVAL", SCRIPT, *arguments)
            answer = self.connection.read_response()
        return bool(answer[0]), [(answer[i], answer[i + 1] / 1000) for i in range(1, len(answer), 2)]


class MemoryStore:
    """The same counters in the memory of this process."""

    MAX_KEYS = 100_000

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.windows: dict[str, tuple[int, float]] = {}

    def send(self, keys: Sequence[str], limits: Sequence[Limit]) -> Callable[[], Counts]:
        return partial(self.take, keys, limits)

    def take(self, keys: Sequence[str], limits: Sequence[Limit]) -> Counts:
        now = time.monotonic()
        with self.lock:
            if len(self.windows) > self.MAX_KEYS:
                self.windows = {key: kept for key, kept in self.windows.items() if kept[1] > now}
            found = [self._current(key, limit, now) for key, limit in zip(keys, limits, strict=True)]
            fits = all(count < limit.count for (count, _), limit in zip(found, limits, strict=True))
            if fits:
                found = [(count + 1, end) for count, end in found]
                self.windows.update(zip(keys, found, strict=True))
        return fits, [(count, end - now) for count, end in found]

    def _current(self, key: str, limit: Limit, now: float) -> tuple[int, float]:
        count, end = self.windows.get(key, (0, 0.0))
        return (count, end) if end > now else (0, now + limit.window)


class Limiter:
    """Counts in Redis.

    While Redis cannot be reached, counts in memory and tries Redis again every `RETRY` seconds.
    """

    RETRY = 5.0

    def __init__(self, shared: Store, local: Store):
        self.shared, self.local = shared, local
        self.closed_until = 0.0
        self.lock = threading.Lock()

    def take(self, subject: str, endpoint: str, limits: Sequence[Limit]) -> Verdict:
        """Count one request of `subject` (a user or an address) on `endpoint`, if all `limits` allow it."""
        return self.begin(subject, endpoint, limits)()

    def wait(self, subject: str, endpoint: str, limits: Sequence[Limit]) -> float:
        """Return the seconds until all `limits` allow another request of `subject`, 0 if they do now.

        Counts nothing.
        """
        # A limit of 0 refuses the request, so that no limit counts it. The verdict is that of the tightest limit.
        return self.take(subject, endpoint, [*limits, Limit("closed", 0, 0)]).reset

    def begin(
        self, subject: str, endpoint: str, limits: Sequence[Limit], account: int | None = None
    ) -> Callable[[], Verdict]:
        """Send the request of `take` to Redis, and return a function that waits for the verdict.

        Limits that are `per_account` need the `account` of the subject.

        The caller must call that function once, before this thread's next `begin`.
        """
        keys = keys_of(subject, endpoint, limits, account)
        receive = None
        if time.monotonic() >= self.closed_until:
            try:
                receive = self.shared.send(keys, limits)
            except (redis.RedisError, OSError) as error:
                self.close(error)
        return partial(self.finish, keys, limits, receive)

    def finish(self, keys: Sequence[str], limits: Sequence[Limit], receive: Callable[[], Counts] | None) -> Verdict:
        if receive is not None:
            try:
                counts = receive()
            except (redis.RedisError, OSError) as error:
                self.close(error)
            else:
                self.open()
                return verdict_of(limits, *counts)
        return verdict_of(limits, *self.local.send(keys, limits)())

    def close(self, error: Exception) -> None:
        with self.lock:  # several threads may fail at once, but only one line is logged
            before, self.closed_until = self.closed_until, time.monotonic() + self.RETRY
        if not before:
            logger.warning("Redis is out of reach, rate limits count in each process: %s", error)

    def open(self) -> None:
        if not self.closed_until:
            return
        with self.lock:
            before, self.closed_until = self.closed_until, 0.0
        if before:
            logger.warning("Redis is back, rate limits are exact again")


def keys_of(subject: str, endpoint: str, limits: Sequence[Limit], account: int | None) -> list[str]:
    """Return the names of the counters of `limits` in Redis."""
    # The braces keep the counters of one request on one node of a Redis cluster, because a script needs them there.
    if account is None:
        start = own = f"{settings.REDIS_PREFIX}rate:{{{subject}}}:"
    else:
        start = f"{settings.REDIS_PREFIX}rate:{{account:{account}}}:"
        own = f"{start}{subject}:"
    return [
        f"{own}{limit.name}:{endpoint}"
        if limit.per_endpoint
        else f"{start if limit.per_account else own}{limit.name}"
        for limit in limits
    ]


def verdict_of(limits: Sequence[Limit], fits: bool, found: Sequence[tuple[int, float]]) -> Verdict:
    """Return the verdict of the tightest limit: the fewest requests left, or in a refusal the last window to end.

    The count of an account is the tightest only if its other users sent most of the requests. A single user reaches
    a limit of its own long before.
    """
    standing = [
        (limit.count - count, left, limit.count) for limit, (count, left) in zip(limits, found, strict=True)
    ]
    if fits:
        remaining, left, count = min(standing, key=itemgetter(0))
        return Verdict(True, count, remaining, left)
    _, left, count = max((each for each in standing if each[0] <= 0), key=itemgetter(1))
    return Verdict(False, count, 0, left)


class Limits:
    """The limits of the settings, read once."""

    def __init__(self, rates: dict[str, str]):
        self.general = (
            Limit.parse("overall", rates["overall"]),
            Limit.parse("endpoint", rates["endpoint"], per_endpoint=True),
        )
        self.of_account = Limit.parse("account", rates["account"], per_account=True)
        self.general_of_account = (*self.general, self.of_account)
        self.extra = {name: Limit.parse(name, rate) for name, rate in rates.items()}
        self.limiter = Limiter(RedisStore(settings.REDIS_URL), MemoryStore())
        expensive = self.extra["expensive"]
        self.meter = Meter(expensive.count, expensive.window)

    def of(self, extra: str | None, account: int | None) -> tuple[Limit, ...]:
        """Return the limits of an endpoint.

        They are the general limits, the account's limit if the caller's `account` is known, and the limit that
        `extra` names in the settings, if any.
        """
        general = self.general if account is None else self.general_of_account
        return general if extra is None else (*general, self.extra[extra])


_limits: Limits | None = None
_making = threading.Lock()


def limits() -> Limits:
    """Return this process's limits, for all its threads. Made on first use, so that no connection is opened before
    a fork.

    The lock is for the first requests of two threads: counts in memory would be lost with one of two objects.
    """
    global _limits
    if _limits is None:
        with _making:
            if _limits is None:
                _limits = Limits(settings.RATE_LIMITS)
    return _limits


def forget() -> None:
    """Make the next request read the settings again, for tests that change them."""
    global _limits
    _limits = None
