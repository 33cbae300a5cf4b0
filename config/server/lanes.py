"""Lanes: the bounded pools of threads in which a web process answers requests that may wait or take long.

The thread of the event loop answers plain reads of the API, which wait only for their own statements. A lane
answers every other request, so that a slow request delays at most the requests of its lane. It delays only some of
them: an account has a share of a lane's threads and places. If the account is not known yet, its address has the
share.

- ``writes``: calls of the API that change something. They may wait for the lock of a row.
- ``slow``: calls of the API that may take long. They are lists with ``X-Filter``, and actions of views that declare
  it. Lists for browsers with a filter are in this lane too.
- ``lists``: lists of the API that grow without a limit, or that read several tables. Their views declare it.
- ``passwords``: requests that hash passwords
- ``outside``: requests to other servers: name servers, the provider that people sign in with
- ``imports``: imports of domains. They query a name server too, and then read up to 12,000 records.
- ``pages``: pages for browsers, and the endpoints of OAuth
- ``staff``: the admin
- ``watch``: ``/readyz``, ``/healthz`` and ``/metrics``

The method, the path and the presence of ``X-Filter`` determine the lane. A view can declare another lane than this
list says. An action of the API declares it by `operation(lane=…)`, and a list of the API by its view's
`lane_of_list`. A page has an attribute `lanes`, which maps methods in lower case to lanes. If the address of a page
has a filter, the page's attribute `lane_of_filters` names the lane.
"""

import asyncio
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.urls import URLPattern, URLResolver

from config.api.known_users import known_users
from config.web.client_address import network_in
from config.web.paths import is_api, normalized

R = TypeVar("R")

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_THAN_PAGES = re.compile(r"(?:^|&)(?!page(?:_size)?=)[^&]")
_FILTERS_FOR_BROWSERS = re.compile(r"(?:^|&)(?!(?:page|seen)=)[^&=]+=[^&]")
SWITCH, SWITCH_BESIDE_LONG = 0.002, 0.0005
"""Seconds for which a thread keeps the interpreter while other threads want it: normally, and while long requests
run. With Python's default of 5 ms, the event loop would wait up to 5 ms for each busy thread after every answer of
the database. With 0.5 ms all the time, a create would cost a tenth more processor time."""
MAX_WAIT_SECONDS = 10.0
"""The longest time in seconds that a request waits for a thread of its lane."""


class TurnedAway(Exception):
    """A lane refuses a request. `status` is that of the answer: 429 or 503."""

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a lane. Each thread has a connection to the database.

    `places` limits the requests that run or wait for a thread. A subject may have half of the places, and `share`
    of the threads. `keeps` is whether a thread keeps its connection from one request to the next. Lanes with few
    and slow requests do not: there the time of connecting does not matter. `long` says that requests may use the
    processor for many milliseconds.
    """

    threads: int
    places: int
    share: int = 1
    keeps: bool = True
    long: bool = False


SIZES: Mapping[str, Size] = {
    "writes": Size(3, 64),
    "slow": Size(2, 32, long=True),
    "lists": Size(2, 64),
    "passwords": Size(2, 16, keeps=False, long=True),
    "outside": Size(16, 16, share=8, keeps=False),
    "imports": Size(4, 8, keeps=False, long=True),  # one at a time for an account: they use the processor
    "pages": Size(2, 64, long=True),
    "staff": Size(2, 16, keeps=False, long=True),
    "watch": Size(1, 256),  # load balancers remove a process that does not answer
}


class _Switching:
    """Sets how long a thread keeps the interpreter. Its methods are called on the event loop."""

    def __init__(self) -> None:
        self.long = 0
        """Number of long requests that run."""

    def begin(self) -> None:
        self.long += 1
        if self.long == 1:
            sys.setswitchinterval(SWITCH_BESIDE_LONG)

    def end(self) -> None:
        self.long -= 1
        if not self.long:
            sys.setswitchinterval(SWITCH)


_switching = _Switching()


class Lane:
    """A pool of threads with a bound. Its methods are called on the event loop, so it needs no lock.

    A free thread goes to the request that has waited longest and whose subject does not use its share of threads.
    """

    def __init__(self, name: str, size: Size):
        self.name, self.size = name, size
        self.threads = ThreadPoolExecutor(size.threads, f"lane-{name}")
        self.share_of_places = max(1, size.places // 2)
        self.running: Counter[str] = Counter()
        self.occupied: Counter[str] = Counter()
        """The places of each subject, including those of running requests."""
        self.waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def run(self, subject: str, function: Callable[..., R], *values: Any) -> R:
        """Call `function` in a thread of this lane and return its result.

        Raises `TurnedAway` at once if the subject has its share of the places (429) or all places are taken (503),
        and after `MAX_WAIT_SECONDS` seconds without a thread (503).
        """
        if self.occupied[subject] >= self.share_of_places:
            raise TurnedAway(429)
        if self.occupied.total() >= self.size.places:
            raise TurnedAway(503)
        self.occupied[subject] += 1
        try:
            await self._wait_for_thread(subject)
        except BaseException:
            self._less(self.occupied, subject)
            raise
        call = asyncio.get_running_loop().run_in_executor(self.threads, self._called, function, *values)
        # Place and thread are free when the call ends, not when its client disconnects.
        call.add_done_callback(lambda _: self._ended(subject))
        return await asyncio.shield(call)

    async def _wait_for_thread(self, subject: str) -> None:
        """Wait for a thread."""
        if self._may_run(subject):
            self._start(subject)
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append((subject, turn))
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._free(subject)  # it got a thread just when it stopped waiting
            else:
                self.waiting.remove((subject, turn))
            if isinstance(error, TimeoutError):
                raise TurnedAway(503) from None
            raise

    def _called(self, function: Callable[..., R], *values: Any) -> R:
        try:
            return function(*values)
        finally:
            if not self.size.keeps:
                connections.close_all()

    def _ended(self, subject: str) -> None:
        self._less(self.occupied, subject)
        self._free(subject)

    def _start(self, subject: str) -> None:
        self.running[subject] += 1
        if self.size.long:
            _switching.begin()

    def _free(self, subject: str) -> None:
        """Give the thread to the first waiting request that may have it."""
        self._less(self.running, subject)
        if self.size.long:
            _switching.end()
        for subject, turn in self.waiting:
            if not turn.done() and self._may_run(subject):
                self._start(subject)
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
    """Finds the lane of a request by its method and path, from these rules and the declarations of views."""

    WATCH = frozenset({"/readyz", "/healthz", "/metrics"})
    LOOP = frozenset({"/livez", "/version"})
    """Paths that the loop answers in addition to plain reads of the API: their views need no other server."""

    def __init__(self, resolver: URLResolver):
        declared: dict[str, dict[str, list[str]]] = {}
        filtered: list[tuple[str, str]] = []
        for path, view in _views(resolver, "/"):
            if lane := getattr(getattr(view, "view_class", None), "lane_of_filters", None):
                filtered.append((path, lane))
            for method, lane in _declared(view):
                if lane not in SIZES:
                    raise ImproperlyConfigured(f"{view} declares the lane {lane}, which does not exist")
                declared.setdefault(method, {}).setdefault(lane, []).append(path)
        self.of_filters = {
            lane: re.compile("|".join(path for path, found in filtered if found == lane))
            for lane in {found for _, found in filtered}
        }
        self.declared = {
            method: [(lane, re.compile("|".join(paths))) for lane, paths in lanes.items()]
            for method, lanes in declared.items()
        }

    def lane_of(self, method: str, path: str, filtered: bool) -> str | None:
        """Return the name of a request's lane, or None if the loop answers it.

        `filtered` is whether the request has a filter: a header ``X-Filter``, or query parameters.
        """
        api = is_api(path)
        if api and (path[-1:] == "/" or "//" in path):
            path = normalized(path)
        for lane, pattern in self.declared.get("GET" if method == "HEAD" else method, ()):
            if pattern.fullmatch(path):
                return "slow" if filtered and lane == "lists" else lane
        if api:
            return "writes" if method not in SAFE_METHODS else "slow" if filtered else None
        if path in self.LOOP:
            return None
        if filtered and method in SAFE_METHODS:
            for lane, pattern in self.of_filters.items():
                if pattern.fullmatch(path):
                    return lane
        if path in self.WATCH:
            return "watch"
        return "staff" if path.startswith("/admin/") else "pages"


def is_filtered(meta: Mapping[str, Any]) -> bool:
    """Tell from the WSGI environment whether a request has a filter. A page's number and size are none.

    In addresses of pages for browsers, empty inputs of a form are no filter either, nor is the version that a
    browser has.
    """
    query = meta["QUERY_STRING"]
    if not query:
        return "HTTP_X_FILTER" in meta
    other = _OTHER_THAN_PAGES if is_api(meta["PATH_INFO"]) else _FILTERS_FOR_BROWSERS
    return "HTTP_X_FILTER" in meta or bool(other.search(query))


def subject_of(meta: Mapping[str, Any]) -> str:
    """Return the subject whose share of a lane a request uses: its account, or the client's address.

    `meta` is the WSGI environment. The account is known if this process has seen the token before, and counts where
    tokens do: in the API. A page takes no token, and with one its client would have a second share.
    """
    known = known_users.get(meta.get("HTTP_AUTHORIZATION")) if is_api(meta["PATH_INFO"]) else None
    return f"address:{network_in(meta)}" if known is None else f"account:{known[1]}"


def _views(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield all views below a resolver, each with the regular expression of its path, without names of groups."""
    for pattern in resolver.url_patterns:
        written = re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern.regex.pattern)
        path = prefix + written.removeprefix("^").removesuffix(r"\Z")
        if isinstance(pattern, URLPattern):
            yield path, pattern.callback
        else:
            yield from _views(pattern, path)


def _declared(view: Any) -> Iterable[tuple[str, str]]:
    """Return the methods for which a view declares a lane, each with the lane."""
    declaring = getattr(view, "cls", None) or getattr(view, "view_class", view)
    actions: Mapping[str, str] | None = getattr(view, "actions", None)
    if actions is None:
        lanes: Mapping[str, str] = getattr(declaring, "lanes", {})
        return [(method.upper(), lane) for method, lane in lanes.items()]
    found = {method: declaring.operations[action] for method, action in actions.items()}
    lanes = {method: "slow" for method, each in found.items() if method == "get" and each.expensive}
    lanes |= {method: each.lane for method, each in found.items() if each.lane}
    return [(method.upper(), lane) for method, lane in lanes.items()]
