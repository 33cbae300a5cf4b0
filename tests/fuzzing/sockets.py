"""Raw bytes for a running server, and checks of its answers."""

import http.client
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from tests.client import check
from tests.fuzzing.answers import Answer
from tests.fuzzing.bytes_sent import Maker, Request
from tests.running import is_web_process

TIMEOUT_SECONDS = 60.0
"""Seconds within which each complete request is answered, on a busy machine."""
SHORT_SECONDS = 0.05
"""Seconds to wait for an answer to a request that may be incomplete. Then the sender closes its side."""
MAX_SHOWN = 20
SLOWEST = 5
BELOW = (400, 408, 411, 413, 414, 417, 431)
"""Statuses by which a server refuses input that is not HTTP, before there is a request."""


@dataclass
class Round:
    """The results of sending requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    @classmethod
    def of(cls, rounds: list["Round"]) -> "Round":
        """Combine the results of several senders."""
        together = cls()
        for each in rounds:
            together.statuses += each.statuses
            together.findings += each.findings
            together.slowest += each.slowest
        together.slowest = sorted(together.slowest, reverse=True)[:SLOWEST]
        return together

    @property
    def requests(self) -> int:
        return self.statuses.total()

    def classes(self) -> dict[str, int]:
        """Return the number of answers in each class of statuses. "none" counts connections closed without an
        answer."""
        found = Counter[str]()
        for status, count in self.statuses.items():
            found[f"{status[0]}xx" if status.isdigit() else status] += count
        return dict(sorted(found.items()))

    def note(self, request: Request, seconds: float) -> None:
        self.slowest = sorted([*self.slowest, (seconds, shown(request.content))], reverse=True)[:SLOWEST]

    def find(self, what: str, request: Request) -> None:
        if len(self.findings) < MAX_SHOWN:
            self.findings.append(f"{what}\n  {shown(request.content, 1000)}")


def play(port: int, maker: Maker, count: int, into: Round) -> None:
    """Send `count` requests, each on a new connection."""
    for _ in range(count):
        send(port, maker.make(), into)


def send(port: int, request: Request, into: Round) -> None:
    """Send a request, and check the answer."""
    started = time.perf_counter()
    try:
        answer = exchange(port, request)
    except TimeoutError:
        into.statuses["late"] += 1
        into.find(f"no answer within {TIMEOUT_SECONDS:g} s", request)
        return
    except http.client.HTTPException as error:
        into.statuses["broken"] += 1
        into.find(f"the answer is no HTTP: {error!r}", request)
        return
    into.statuses[str(answer.status_code) if answer else "none"] += 1
    if request.whole:
        into.note(request, time.perf_counter() - started)
    for problem in problems(request, answer):
        into.find(problem, request)


def exchange(port: int, request: Request) -> Answer | None:
    """Return the answer, or None if the connection was closed without one. Raises `TimeoutError` if neither
    happens."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        with suppress(ConnectionError):  # the server may answer and close the connection early
            connection.sendall(request.content)
        if not request.whole and not select.select([connection], [], [], SHORT_SECONDS)[0]:
            # no more data: a server that waits for the rest learns that the request ends
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        try:
            return _read(connection, request.method or "GET")
        except ConnectionError:
            return None


def _read(connection: socket.socket, method: str) -> Answer | None:
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        return Answer(response.status, response.headers, response.read())
    except http.client.BadStatusLine as error:
        if not error.line.strip():
            return None
        raise
    finally:
        response.close()


def problems(request: Request, answer: Answer | None) -> Iterator[str]:
    """Yield the problems of an answer."""
    if answer is None:
        if request.whole:
            yield "the connection was closed without an answer"
        return
    status = answer.status_code
    if status >= 500:
        yield f"answered {status}: {answer.content[:300]!r}"
    elif request.whole and status not in BELOW[1:]:
        try:
            check(request.method, request.path.partition("?")[0], answer)
        except Exception as error:  # noqa: BLE001 - whatever it is that does not fit
            yield f"answered {status}, outside of the document: {str(error)[:300]}: {answer.content[:300]!r}"
    elif "X-Request-ID" not in answer.headers and status not in BELOW:
        yield f"answered {status} by no application: {answer.content[:300]!r}"


def shown(content: bytes, longest: int = 120) -> str:
    return repr(content[:longest]) + (f" and {len(content) - longest} more" if len(content) > longest else "")


class Processes:
    """The processes of a web server below the process with this id. A crash would replace them."""

    def __init__(self, pid: int):
        self.pid = pid

    def workers(self) -> list[psutil.Process]:
        started = psutil.Process(self.pid)
        servers = [each for each in (started, *started.children(recursive=True)) if _is_server(each)]
        pids = {each.pid for each in servers}
        return [each for each in servers if each.ppid() in pids]

    def ids(self) -> set[int]:
        return {each.pid for each in self.workers()}

    def memory(self) -> float:
        """Return the memory of all processes together, in MB."""
        return sum(each.memory_info().rss for each in self.workers()) / 2**20


def _is_server(process: psutil.Process) -> bool:
    return is_web_process(process.cmdline())
