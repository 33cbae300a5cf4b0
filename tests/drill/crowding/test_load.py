"""The load of the others counts its whole wait, from the time when each request was due."""

import socketserver
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.drill.crowding.load import Load, api, request
from tests.drill.crowding.others import Others

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = request("GET", "/")


@contextmanager
def serving(handle: Callable[[socketserver.StreamRequestHandler], None]) -> Iterator[int]:
    """Run a server whose connections call `handle`. Yields its port."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            handle(self)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def read(connection: socketserver.StreamRequestHandler) -> bool:
    """Read a request without a body. Returns whether there was one."""
    line = connection.rfile.readline()
    while connection.rfile.readline().strip():
        pass
    return bool(line)


@contextmanager
def load_to(port: int) -> Iterator[Load]:
    load = Load(port)
    yield load
    load.close()


def test_requests_are_sent_at_their_time_while_the_server_stands_still():
    """All ten requests arrive before the first is answered, and each counts from its own time."""
    arrived = threading.Barrier(10)

    def answer(connection: socketserver.StreamRequestHandler) -> None:
        read(connection)
        arrived.wait(60)
        connection.wfile.write(OK)

    with serving(answer) as port, load_to(port) as load:
        answers = load.send(iter([GET] * 10), 0.02, 9.0)
    assert [each.status for each in answers] == [200] * 10
    assert max(each.seconds for each in answers) - min(each.seconds for each in answers) >= 0.17


def test_a_connection_is_kept_and_one_that_the_server_closed_is_replaced():
    connections = []

    def answer(connection: socketserver.StreamRequestHandler) -> None:
        connections.append(connection)
        for _ in range(2):
            if read(connection):
                connection.wfile.write(OK)

    with serving(answer) as port, load_to(port) as load:
        answers = [load.send(iter([GET]), 0, 9.0) for _ in range(4)]
    assert [[each.status for each in found] for found in answers] == [[200]] * 4
    assert len(connections) == 2


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 503),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000, 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", 0),
        (b"HTTP/1.1 200 OK\r\nContent-", 0),
        (b"", 0),
    ],
)
def test_the_status_is_that_of_a_complete_answer(content, status):
    def answer(connection: socketserver.StreamRequestHandler) -> None:
        read(connection)
        connection.wfile.write(content)

    with serving(answer) as port, load_to(port) as load:
        [found] = load.send(iter([GET]), 0, 9.0)
    assert found.status == status


def test_the_process_of_the_others_sends_their_requests_in_turn():
    seen = []

    def answer(connection: socketserver.StreamRequestHandler) -> None:
        while line := connection.rfile.readline():
            seen.append(line)
            while connection.rfile.readline().strip():
                pass
            connection.wfile.write(OK)

    with serving(answer) as port:
        others = Others(port, [api("token", "GET", "/domains"), api("token", "GET", "/regions")])
        begun = time.monotonic()
        waited = others.measured(0.2)
        assert time.monotonic() - begun >= 0.15
        others.close()
    assert (waited.statuses, len(waited.seconds)) == ({200: len(seen)}, len(seen))
    domains, regions = (Counter(seen)[b"GET /v4/%s HTTP/1.1\r\n" % name] for name in (b"domains", b"regions"))
    assert domains + regions == len(seen) >= 8
    assert 0 <= domains - regions <= 1
