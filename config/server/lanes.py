"""Lanes: the bounded pools of threads in which a web process answers whatever may wait or take long.

The thread of the event loop answers plain reads of the API, which wait for nothing but a statement of their own.
Everything else is answered in a lane, so that it holds up the requests of that lane at most, and of these only
some: an account, or an address where the account is not known yet, has a share of a lane's threads and places.

=========  ===========================================================================================
lane       answers
=========  ===========================================================================================
writes     calls of the API that change something: they may wait for the lock of a row
slow       calls of the API that may take long: lists with ``X-Filter``, and what views declare
passwords  what hashes passwords
outside    what waits for servers of others: name servers, the provider that people sign in with
pages      pages for browsers, and the endpoints of OAuth
staff      the admin
watch      ``/readyz``, ``/healthz`` and ``/metrics``
=========  ===========================================================================================

The lane follows from the method and the path, before anything else of the request is looked at. A view whose
requests belong to another lane than the table says declares it by its attribute `lanes`: of a resource by action,
of a page by method in lower case. The loop answers nothing by oversight: only a plain read is its affair.
"""

import asyncio
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.urls import URLPattern, URLResolver

from config.api.known_users import known_users
from config.client_address import network_in
from config.paths import is_api, tidied

R = TypeVar("R")

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
SWITCH = 0.002
"""Seconds for which a thread keeps the interpreter while others want it. With Python's own 5 ms the loop would wait
that long for each busy thread of a lane, each time that it has heard from the database. With 0.5 ms a create costs
a tenth more of a processor."""
PATIENCE = 10.0
"""Seconds that a request waits for a thread of its lane, at most."""


class TurnedAway(Exception):
    """A request that a lane does not take, with the status of its answer: 429 or 503."""

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Size:
    """Of a lane. Each thread has a connection to the database.

    `places` are the requests that run or wait for a thread; a subject may have half of them, and `share` of the
    threads. `keeps` is whether a thread keeps its connection from one request to the next: where requests are few
    and slow, making one is nothing beside them.
    """

    threads: int
    places: int
    share: int = 1
    keeps: bool = True


SIZES: Mapping[str, Size] = {
    "writes": Size(3, 64),
    "slow": Size(2, 32),
    "passwords": Size(2, 16, keeps=False),
    "outside": Size(16, 16, share=8, keeps=False),
    "pages": Size(2, 64),
    "staff": Size(2, 16, keeps=False),
    "watch": Size(1, 16),
}


class Lane:
    """A pool of threads with a bound. Its methods are called on the event loop, so that nothing here needs a lock.

    A thread that gets free goes to whoever waits for longest and has not got its share.
    """

    def __init__(self, name: str, size: Size):
        self.name, self.size = name, size
        self.threads = ThreadPoolExecutor(size.threads, f"lane-{name}")
        self.share_of_places = max(1, size.places // 2)
        self.running: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        """Places of each subject, those of running requests too."""
        self.waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def run(self, subject: str, function: Callable[..., R], *values: Any) -> R:
        """What `function` returns in a thread of this lane, or raises.

        Raises `TurnedAway` at once where the subject has its share of the places (429) or all are taken (503), and
        after `PATIENCE` seconds without a thread (503).
        """
        if self.held[subject] >= self.share_of_places:
            raise TurnedAway(429)
        if self.held.total() >= self.size.places:
            raise TurnedAway(503)
        self.held[subject] += 1
        try:
            await self._turn(subject)
            return await self._run(subject, function, *values)
        finally:
            self._less(self.held, subject)

    async def _turn(self, subject: str) -> None:
        """Wait for a thread."""
        if self._may_run(subject):
            self.running[subject] += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append((subject, turn))
        try:
            async with asyncio.timeout(PATIENCE):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._ended(subject)  # it was given a thread at the moment at which it stopped waiting
            else:
                self.waiting.remove((subject, turn))
            if isinstance(error, TimeoutError):
                raise TurnedAway(503) from None
            raise

    async def _run(self, subject: str, function: Callable[..., R], *values: Any) -> R:
        call = asyncio.get_running_loop().run_in_executor(self.threads, self._called, function, *values)
        # the thread is free when the call ends, not when its client is gone
        call.add_done_callback(lambda _: self._ended(subject))
        return await asyncio.shield(call)

    def _called(self, function: Callable[..., R], *values: Any) -> R:
        try:
            return function(*values)
        finally:
            if not self.size.keeps:
                connections.close_all()

    def _ended(self, subject: str) -> None:
        """Give the thread to the first who waits and may have it."""
        self._less(self.running, subject)
        for subject, turn in self.waiting:
            if not turn.done() and self._may_run(subject):
                self.running[subject] += 1
                turn.set_result(None)
                self.waiting.remove((subject, turn))
                return

    def _may_run(self, subject: str) -> bool:
        return self.running.total() < self.size.threads and self.running[subject] < self.size.share

    @staticmethod
    def _less(counts: Counter[str], subject: str) -> None:
        counts[subject] -= 1
        if not counts[subject]:
            del counts[subject]


class Routes:
    """The lane of each request, by its method and path: the rules of this module, and what views declare."""

    WATCH = frozenset({"/readyz", "/healthz", "/metrics"})
    LOOP = frozenset({"/livez", "/version"})
    """What is answered on the loop beside plain reads of the API: it asks nobody."""

    def __init__(self, resolver: URLResolver):
        declared: dict[str, dict[str, list[str]]] = {}
        for path, view in _views(resolver, "/"):
            for method, lane in _declared(view):
                if lane not in SIZES:
                    raise ImproperlyConfigured(f"{view} declares the lane {lane}, which does not exist")
                declared.setdefault(method, {}).setdefault(lane, []).append(path)
        self.declared = {
            method: [(lane, re.compile("|".join(paths))) for lane, paths in lanes.items()]
            for method, lanes in declared.items()
        }

    def lane_of(self, method: str, path: str, filtered: bool) -> str | None:
        """The name of a request's lane; None where the loop answers. `filtered`: it has a header ``X-Filter``."""
        api = is_api(path)
        if api and (path[-1:] == "/" or "//" in path):
            path = tidied(path)
        for lane, pattern in self.declared.get("GET" if method == "HEAD" else method, ()):
            if pattern.fullmatch(path):
                return lane
        if api:
            return "writes" if method not in SAFE else "slow" if filtered else None
        if path in self.LOOP:
            return None
        if path in self.WATCH:
            return "watch"
        return "staff" if path.startswith("/admin/") else "pages"


def subject_of(meta: Mapping[str, Any]) -> str:
    """Whose share of a lane a request takes: its account's, or that of the address it comes from.

    `meta` is its WSGI environment. The account is known where this process has seen the token before.
    """
    known = known_users.get(meta.get("HTTP_AUTHORIZATION"))
    return f"address:{network_in(meta)}" if known is None else f"account:{known[1]}"


def _views(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, Any]]:
    """All views below a resolver, each with the regular expression of its path, without names of groups."""
    for pattern in resolver.url_patterns:
        written = re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern.regex.pattern)
        path = prefix + written.removeprefix("^").removesuffix(r"\Z")
        if isinstance(pattern, URLPattern):
            yield path, pattern.callback
        else:
            yield from _views(pattern, path)


def _declared(view: Any) -> Iterable[tuple[str, str]]:
    """The methods for which a view declares a lane."""
    declaring = getattr(view, "cls", None) or getattr(view, "view_class", view)
    lanes: Mapping[str, str] = getattr(declaring, "lanes", {})
    actions: Mapping[str, str] | None = getattr(view, "actions", None)
    if actions is None:
        return [(method.upper(), lane) for method, lane in lanes.items()]
    return [(method.upper(), lanes[action]) for method, action in actions.items() if action in lanes]
