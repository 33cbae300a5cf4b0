"""The customer's pages: their server time, their first paint in a browser, and the load of open pages.

An open page polls its changing part every few seconds. Most of these requests are answered 204, because nothing
has changed. A page of an instance with a running job polls more often, and its part is rendered each time.
"""

import heapq
import http.client
import itertools
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.models import User
from accounts.pages.session_store import SessionStore
from tests.bench.data import Sizes
from tests.bench.errors import BenchError
from tests.bench.processor import Spent
from tests.bench.servers import OURS, Served, server

PAGES = {"list": "/home/instances", "create": "/home/instances/new", "instance": "/home/instances/{}"}
"""The pages whose time is measured. An instance's page has its id."""
OPEN, MOVING = 500, 50
"""The numbers of open pages, and of those whose instance has a running job."""
AT_REST, UNDER_WAY = 5.0, 2.0
"""Seconds between two requests of an open page, as templates/compute/instance_state.html sets them."""
CONNECTIONS = 8
TIMEOUT = 10.0
FIRST_PAINT = """
const done = arguments[0]
const observer = new PerformanceObserver(list => {
    const paint = list.getEntriesByName('first-contentful-paint')[0]
    if (paint) done(paint.startTime)
})
observer.observe({type: 'paint', buffered: true})
"""
SEEN = re.compile(rb"\?seen=(\w+)")


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Milliseconds of each page's answers, one request at a time, and of its first contentful paints.

    `paints` is empty without a browser.
    """

    answers: dict[str, list[float]]
    paints: dict[str, list[float]]
    spent: Spent
    """The processor time of open pages, in shares of a core."""
    asked: float
    """Requests of open pages per second."""


def measure(sizes: Sizes, log: Path, *, rounds: int, seconds: float) -> PageTimes:
    """Measure the pages of signed-in owners of `OPEN` accounts."""
    cookies = [_cookie(user) for user in User.objects.order_by("pk")[:OPEN]]
    with server(OURS, {}, log) as ours:
        answers = {name: list(_answers(ours, address, cookies, rounds)) for name, address in PAGES.items()}
        paints = _paints(ours, cookies[0]) if shutil.which("chromium") and shutil.which("chromedriver") else {}
        before, started = ours.processor.spent(), time.perf_counter()
        asked = _keep_open(ours, cookies, seconds)
        lasted, after = time.perf_counter() - started, ours.processor.spent()
    spent = after - before
    shares = Spent(spent.web / lasted, spent.database / lasted, spent.redis / lasted)
    return PageTimes(answers, paints, shares, asked / lasted)


def _cookie(user: User) -> str:
    """Return the cookie of a browser in which the user has just signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


class _Browser:
    """One keep-alive connection."""

    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def get(self, path: str, cookie: str, expected: Sequence[int] = (200,)) -> bytes:
        """Return the body of the answer. Raises `BenchError` for an unexpected status."""
        self.connection.request("GET", path, headers={"Cookie": cookie})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status not in expected:
            raise BenchError(f"GET {path} answered {answer.status}: {body[:2000].decode(errors='replace')}")
        return body


def _answers(ours: Served, address: str, cookies: Sequence[str], rounds: int) -> Iterator[float]:
    browser = _Browser(ours.port)
    for number in range(-2, rounds):  # two uncounted requests: the first ones compile the templates
        account = number % len(cookies)
        started = time.perf_counter()
        browser.get(address.format(account + 1), cookies[account])
        if number >= 0:
            yield 1000 * (time.perf_counter() - started)


def _keep_open(ours: Served, cookies: Sequence[str], seconds: float) -> int:
    """Send requests like `OPEN` pages, each of an instance of its own account. Returns the number of requests."""
    browsers = itertools.cycle([_Browser(ours.port) for _ in range(CONNECTIONS)])
    seen: list[bytes] = []
    for account, cookie in enumerate(cookies, 1):
        page = next(browsers).get(f"/home/instances/{account}/state", cookie)
        found = SEEN.search(page)
        if found is None:
            raise BenchError(f"the part of an instance does not name its version: {page[:500].decode()}")
        seen.append(found[1])
    started = time.perf_counter()
    due = [(started + AT_REST * number / len(cookies), number) for number in range(len(cookies))]
    heapq.heapify(due)
    asked = 0
    while due[0][0] < started + seconds:
        at, number = heapq.heappop(due)
        time.sleep(max(0.0, at - time.perf_counter()))
        moving = number < MOVING * len(cookies) // OPEN
        version = "" if moving else seen[number].decode()
        path = f"/home/instances/{number + 1}/state?seen={version}"
        next(browsers).get(path, cookies[number], (200, 204))
        asked += 1
        heapq.heappush(due, (at + (UNDER_WAY if moving else AT_REST), number))
    return asked


def _paints(ours: Served, cookie: str) -> dict[str, list[float]]:
    """Return milliseconds from navigation to the first contentful paint, several for each page."""
    from tests.browser.visitor import start

    name, _, value = cookie.partition("=")
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as profile:
        driver = start(Path(profile))
        try:
            driver.get(f"http://127.0.0.1:{ours.port}/login")
            driver.add_cookie({"name": name, "value": value})
            for page, address in PAGES.items():
                found[page] = [_paint(driver, f"http://127.0.0.1:{ours.port}{address.format(1)}") for _ in range(5)]
        finally:
            driver.quit()
    return found


def _paint(driver, address: str) -> float:
    driver.get(address)
    return float(driver.execute_async_script(FIRST_PAINT))


def lines(times: PageTimes) -> Iterator[str]:
    """Yield the figures as text."""
    shown = ", ".join(f"{name} {statistics.median(each):.0f}" for name, each in times.answers.items())
    yield f"pages: server time, one request at a time, median: {shown} ms"
    if times.paints:
        shown = ", ".join(f"{name} {statistics.median(each):.0f}" for name, each in times.paints.items())
        yield f"pages: first contentful paint, median: {shown} ms"
    shares = " / ".join(f"{share:.2f}" for share in astuple(times.spent))
    yield (
        f"pages: {OPEN} open pages ask {times.asked:.0f} times a second, for {shares} of a core"
        " (web, database, Redis)"
    )
