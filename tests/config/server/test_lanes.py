"""Lanes: which one answers a request, and how many requests each takes, in total and for each account."""

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLResolver, get_resolver, path
from django.urls.resolvers import RegexPattern

from config.api.known_users import known_users
from config.api.responses import REFUSED
from config.server import lanes
from config.server.application import Application
from config.server.lanes import SIZES, Lane, Routes, Size, TurnedAway, is_filtered, subject_of
from tests.config.api.routes import routes as api_routes
from tests.config.server.exchanges import Answer, Exchange, Headers

R = TypeVar("R")
DEADLINE = 60
"""Seconds to wait for what takes milliseconds."""


class Gate:
    """A function for a thread of a lane. It returns once the gate is open."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered: list[str] = []

    def __call__(self, who: str) -> str:
        self.entered.append(who)
        assert self.opened.wait(DEADLINE)
        return who


def on_a_loop(steps: Callable[[Gate], Coroutine[Any, Any, R]]) -> R:
    """Run the steps with a closed gate, and return their result. The gate is opened when they end."""

    async def run() -> R:
        gate = Gate()
        try:
            return await asyncio.wait_for(steps(gate), DEADLINE)
        finally:
            gate.opened.set()

    return asyncio.run(run())


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.001)


def test_while_a_long_request_runs_threads_take_shorter_turns_at_the_interpreter():
    async def steps(gate: Gate) -> list[float]:
        seen = []
        for long in (False, True):
            lane = Lane("test", Size(threads=1, places=2, long=long))
            seen.append(await lane.run("any", sys.getswitchinterval))
            await until(lambda lane=lane: not lane.running)
        return [*seen, sys.getswitchinterval()]

    before = sys.getswitchinterval()
    try:
        assert on_a_loop(steps) == pytest.approx([before, lanes.SWITCH_BESIDE_LONG, lanes.SWITCH])
    finally:
        sys.setswitchinterval(before)


def test_more_threads_than_its_share_are_for_others():
    async def steps(gate: Gate) -> list[str]:
        lane = Lane("test", Size(threads=4, places=16, share=2))
        ours = [asyncio.create_task(lane.run("us", gate, "us")) for _ in range(6)]
        theirs = [asyncio.create_task(lane.run("them", gate, "them")) for _ in range(2)]
        await until(lambda: len(gate.entered) == 4)
        entered = sorted(gate.entered)
        gate.opened.set()
        await asyncio.gather(*ours, *theirs)
        return entered

    assert on_a_loop(steps) == ["them", "them", "us", "us"]


def test_only_a_client_that_has_used_up_its_share_of_places_is_refused():
    async def steps(gate: Gate) -> list[int]:
        lane = Lane("test", Size(threads=2, places=4))
        running = [asyncio.create_task(lane.run(who, gate, who)) for who in ("us", "us", "them")]
        await asyncio.sleep(0)
        statuses = []
        for who in ("us", "them", "a third"):
            if who == "them":
                running.append(asyncio.create_task(lane.run(who, gate, who)))
                await asyncio.sleep(0)
                continue
            with pytest.raises(TurnedAway) as refusal:
                await lane.run(who, gate, who)
            statuses.append(refusal.value.status)
        gate.opened.set()
        await asyncio.gather(*running)
        await until(lambda: not lane.occupied)
        assert await lane.run("us", gate, "us") == "us", "the places are free again"
        await until(lambda: not lane.running)
        return statuses

    assert on_a_loop(steps) == [429, 503]


def test_nobody_waits_for_a_thread_without_end(monkeypatch):
    monkeypatch.setattr(lanes, "MAX_WAIT_SECONDS", 0.01)

    async def steps(gate: Gate) -> int:
        lane = Lane("test", Size(threads=1, places=8))
        first = asyncio.create_task(lane.run("us", gate, "us"))
        await until(lambda: bool(gate.entered))
        with pytest.raises(TurnedAway) as refusal:
            await lane.run("them", gate, "them")
        gate.opened.set()
        assert await first == "us"
        await until(lambda: not lane.running)
        assert await lane.run("them", gate, "them") == "them"
        return refusal.value.status

    assert on_a_loop(steps) == 503


def test_a_thread_is_not_given_on_while_the_call_of_a_client_that_left_runs():
    async def steps(gate: Gate) -> list[str]:
        lane = Lane("test", Size(threads=1, places=8))
        left = asyncio.create_task(lane.run("left", gate, "left"))
        await until(lambda: bool(gate.entered))
        left.cancel()
        later = asyncio.create_task(lane.run("later", gate, "later"))
        with pytest.raises(asyncio.CancelledError):
            await left
        assert lane.running == {"left": 1}
        gate.opened.set()
        assert await later == "later"
        return gate.entered

    assert on_a_loop(steps) == ["left", "later"]


def test_an_error_is_the_callers():
    async def steps(gate: Gate) -> None:
        lane = Lane("test", Size(threads=1, places=2))
        with pytest.raises(ZeroDivisionError):
            await lane.run("us", lambda: 1 / 0)
        await until(lambda: not lane.running)

    on_a_loop(steps)


CASES = [
    ("GET", "/v4/compute/instances", None),
    ("HEAD", "/v4beta/regions", None),
    ("OPTIONS", "/v4/compute/instances", None),
    ("GET", "/livez", None),
    ("POST", "/v4/compute/instances", "writes"),
    ("DELETE", "/v4/compute/instances/7/", "writes"),
    ("POST", "/v4/unknown", "writes"),
    ("GET", "/v4/profile/grants", "slow"),
    ("HEAD", "/v4beta/account//users/joe/grants/", "slow"),
    ("GET", "/v4/account/events", "lists"),
    ("GET", "/v4/account/events/7", None),
    ("GET", "/v4/account/notifications", "lists"),
    ("GET", "/v4/domains/7/zone-file", "slow"),
    ("POST", "/v4/domains/7/clone", "slow"),
    ("POST", "/v4/domains/import", "imports"),
    ("PUT", "/v4/networking/ips/192.0.2.1", "outside"),
    ("GET", "/login/external/callback", "outside"),
    ("POST", "/login", "passwords"),
    ("POST", "/password/MQ/set-password", "passwords"),
    ("POST", "/v4/profile/security-questions", "passwords"),
    ("GET", "/login", "pages"),
    ("POST", "/oauth/token", "pages"),
    ("GET", "/openapi.json", "pages"),
    ("GET", "/nothing", "pages"),
    ("GET", "/admin/compute/instance/", "staff"),
    ("GET", "/readyz", "watch"),
    ("GET", "/metrics", "watch"),
]


@pytest.fixture(scope="module")
def routes() -> Routes:
    return Routes(get_resolver())


@pytest.mark.parametrize(("method", "address", "lane"), CASES)
def test_the_lane_follows_from_the_method_and_the_path(routes, method, address, lane):
    assert routes.lane_of(method, address, filtered=False) == lane


def test_a_filtered_list_may_take_long(routes):
    assert routes.lane_of("GET", "/v4/compute/instances", filtered=True) == "slow"
    assert routes.lane_of("GET", "/v4/account/events", filtered=True) == "slow"


@pytest.mark.parametrize(
    ("query", "filtered"),
    [
        ("", False), ("page=2", False), ("page_size=500&page=2", False), ("page=2&", False), ("label=web", True),
        ("page=2&tags=a&tags=b", True), ("pages=2", True), ("&region=x", True),
    ],
)  # fmt: skip
def test_query_parameters_are_a_filter_as_the_header_is(query, filtered):
    request = {"PATH_INFO": "/v4/volumes", "QUERY_STRING": query}
    assert is_filtered(request) is filtered
    assert is_filtered({**request, "HTTP_X_FILTER": "{}"})


@pytest.mark.parametrize(
    ("query", "lane"),
    [
        ("", "pages"), ("page=2", "pages"), ("page=2&seen=1f", "pages"), ("label=&status=", "pages"),
        ("label=web", "slow"), ("label=&status=active", "slow"), ("page=2&order=size", "slow"),
    ],
)  # fmt: skip
def test_a_filtered_list_for_browsers_may_take_long_too(routes, query, lane):
    filtered = is_filtered({"PATH_INFO": "/home/volumes", "QUERY_STRING": query})
    assert routes.lane_of("GET", "/home/volumes", filtered) == lane
    assert routes.lane_of("POST", "/home/volumes/7/delete", filtered) == "pages"


@pytest.mark.parametrize("route", [each for each in api_routes() if each.method == "get"], ids=str)
def test_no_read_that_is_expensive_is_answered_on_the_loop(routes, route):
    if getattr(getattr(route.view, route.action), "expensive", False):
        address = route.fill(dict.fromkeys(route.parameters, 1))
        assert routes.lane_of("GET", address, filtered=False) is not None


def test_a_token_counts_for_its_account_in_the_api_alone():
    known_users.learn("Bearer lanes", (7, 3))
    meta = {"HTTP_AUTHORIZATION": "Bearer lanes", "REMOTE_ADDR": "192.0.2.1"}
    assert subject_of(meta | {"PATH_INFO": "/v4/tags"}) == "account:3"
    assert subject_of(meta | {"PATH_INFO": "/login"}) == "address:192.0.2.1"
    assert subject_of(meta | {"PATH_INFO": "/v4/tags", "HTTP_AUTHORIZATION": "Bearer x"}) == "address:192.0.2.1"


def test_a_lane_that_does_not_exist_is_noticed_at_start():
    def view() -> None: ...

    view.lanes = {"get": "fast"}  # type: ignore[attr-defined]
    resolver = URLResolver(RegexPattern(r"^/"), [path("here", view)])
    with pytest.raises(ImproperlyConfigured, match="fast"):
        Routes(resolver)


def test_reads_are_answered_on_the_loop_and_the_rest_in_a_lane():
    """The loop's thread answers reads and refusals. A thread of the lane answers everything else."""
    seen: list[tuple[str, bool, int | None]] = []

    def handler(environ: dict[str, Any], start_response: Any) -> Answer:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()  # Django would refuse to work
        on_loop = threading.current_thread() is threading.main_thread()
        seen.append((environ["REQUEST_METHOD"], on_loop, environ.get(REFUSED)))
        start_response(f"{environ.get(REFUSED, 200)} ", [])
        return Answer(b"answer")

    def scope(method: str) -> Any:
        return SimpleNamespace(
            proto="http", http_version="1.1", method=method, scheme="http", path="/v4/x", query_string="",
            authority=None, client="192.0.2.1:5000", server="127.0.0.1:80", headers=Headers(("host", "here")),
        )  # fmt: skip

    async def steps(gate: Gate) -> list[int]:
        lane = Lane("writes", Size(threads=1, places=2))
        application = Application(handler, 1000, Routes(get_resolver()), {"writes": lane})
        application.__rsgi_init__(asyncio.get_running_loop())
        exchanges = [Exchange() for _ in range(3)]
        await application.__rsgi__(scope("GET"), exchanges[0])
        await application.__rsgi__(scope("PUT"), exchanges[1])
        running = asyncio.create_task(lane.run("address:192.0.2.1", gate, "us"))
        await until(lambda: bool(gate.entered))
        await application.__rsgi__(scope("PUT"), exchanges[2])
        gate.opened.set()
        await running
        return [each.answer[0] for each in exchanges if each.answer]

    assert on_a_loop(steps) == [200, 200, 429]
    assert seen == [("GET", True, None), ("PUT", False, None), ("PUT", True, 429)]


def test_most_of_a_databases_connections_are_left_to_others():
    """PostgreSQL accepts 100 connections. Four web processes with all threads busy must leave some for workers."""
    kept = 1 + sum(size.threads for size in SIZES.values() if size.keeps)
    assert 4 * kept < 50
