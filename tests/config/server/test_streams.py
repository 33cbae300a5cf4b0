"""Bodies that are passed on as they arrive: the receiver's input, and the view's."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from config.api.responses import RECEIVED
from config.errors import Invalid
from config.server.bodies import Pace
from config.server.streams import PIECE_BYTES, SHARE, THREADS, Streams
from tests.config.server.exchanges import Answer, Exchange, Headers

PREFIX = "/uploads/"


class Receiving:
    """A receiver that keeps its input. It refuses to begin or to write if the test says so."""

    def __init__(self, refuses: str = "", account: int = 7):
        self.refuses = refuses
        self.account = account
        self.written: list[bytes] = []
        self.closed = False
        self.begun: tuple[str, int] | None = None

    def begin(self, path: str, length: int) -> "Receiving":
        self.begun = path, length
        self._refuse("begin")
        return self

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._refuse("write")

    def close(self) -> None:
        self.closed = True

    def _refuse(self, what: str) -> None:
        assert threading.current_thread().name.startswith("stream"), "it may block"
        if self.refuses == what:
            raise Invalid(f"no {what}")


@pytest.fixture(autouse=True)
def no_database(monkeypatch):
    """Open no database connection: each thread would have its own."""
    monkeypatch.setattr("config.server.streams.close_old_connections", lambda: None)


def send(exchange: Exchange, receiving: Receiving, length: int, method: str = "PUT") -> list[Any]:
    """Pass the request to the application. Returns the values that the view got, if it was called."""
    received = []

    def handler(environ: dict[str, Any], start_response: Any) -> Answer:
        received.append(environ.get(RECEIVED))
        start_response("200 OK", [])
        return Answer(b"{}")

    async def served() -> None:
        streams = Streams(handler, PREFIX, receiving.begin, Pace(0.01 if exchange.stalls else 600, 1e9))
        streams.__rsgi_init__(asyncio.get_running_loop())
        await streams.__rsgi__(scope_of(length, method), exchange)

    asyncio.run(served())
    return received


def scope_of(length: int, method: str = "PUT") -> Any:
    return SimpleNamespace(
        proto="http",
        http_version="1.1", method=method, scheme="http", path="/uploads/7", query_string="", authority=None,
        client="192.0.2.1:5000", server="127.0.0.1:8000", headers=Headers(("content-length", str(length))),
    )  # fmt: skip


def test_a_body_is_written_as_it_comes_and_the_view_has_the_last_word():
    sent = [b"x" * 100, b"y" * PIECE_BYTES, b"z"]
    exchange, receiving = Exchange(sent), Receiving()
    assert send(exchange, receiving, PIECE_BYTES + 101) == [receiving]
    assert receiving.begun == ("/uploads/7", PIECE_BYTES + 101)
    assert receiving.written == sent
    assert exchange.answer == (200, {}, b"{}")
    assert receiving.closed


@pytest.mark.parametrize("refuses", ["begin", "write"])
def test_a_refused_stream_is_discarded_and_reported_by_the_view(refuses):
    exchange, receiving = Exchange([b"x", b"y", b"z"]), Receiving(refuses)
    [error] = send(exchange, receiving, 3)
    assert str(error) == f"no {refuses}"
    assert exchange.taken == 3
    assert receiving.closed == (refuses == "write")


def test_a_stalled_upload_is_ended():
    exchange, receiving = Exchange([b"x"], stalls=True), Receiving()
    assert send(exchange, receiving, 3) == []
    assert exchange.answer is not None
    assert exchange.answer[0] == 408
    assert receiving.closed


def test_other_requests_are_answered_without_their_body():
    exchange, receiving = Exchange([b"x"]), Receiving()
    assert send(exchange, receiving, 1, method="POST") == [None]
    assert receiving.begun is None


def test_the_last_words_of_one_account_occupy_half_of_the_threads():
    ours, theirs = [Receiving() for _ in range(THREADS)], Receiving(account=8)
    begun, opened = [], threading.Event()

    def handler(environ: dict[str, Any], start_response: Any) -> Answer:
        begun.append(environ[RECEIVED])
        if environ[RECEIVED] is not theirs:
            assert opened.wait(60)
        start_response("200 OK", [])
        return Answer(b"{}")

    async def served() -> None:
        waiting = [*ours, theirs]
        streams = Streams(handler, PREFIX, lambda path, length: waiting.pop(0).begin(path, length), Pace(600, 1e9))
        streams.__rsgi_init__(asyncio.get_running_loop())
        uploads = [asyncio.create_task(streams.__rsgi__(scope_of(1), Exchange([b"x"]))) for _ in ours]
        try:
            async with asyncio.timeout(60):
                while not all(each.written for each in ours) or len(begun) < SHARE:
                    await asyncio.sleep(0.001)
            await asyncio.wait_for(streams.__rsgi__(scope_of(1), Exchange([b"x"])), 60)
            assert len(begun) == SHARE + 1
        finally:
            opened.set()
        await asyncio.gather(*uploads)
        assert not streams.shares

    asyncio.run(served())
    assert len(begun) == THREADS + 1
