"""Sending of answers: small ones at once, large ones as they are read, and a limit on unread bytes."""

import asyncio
import gzip
import os
import threading
from io import FileIO
from typing import Any

import pytest

from config.server import answers
from config.server.answers import (
    MAX_SMALL_BYTES,
    OF_ADDRESS,
    OF_PROCESS,
    PIPE_BYTES,
    Answered,
    Answers,
    Unread,
    _Reader,
)
from config.server.bodies import Pace
from config.web import compression

JSON = ("Content-Type", "application/json")
CLIENT = "192.0.2.1:5000"


class Connection:
    """A connection over which one answer is sent. Its client reads `reads` bytes, or all, then leaves or waits."""

    def __init__(self, reads: int | None = None, *, leaves: bool = True):
        self.reads, self.leaves = reads, leaves
        self.status = 0
        self.headers: dict[str, str] = {}
        self.received = b""
        self.closed = threading.Event()
        self.reading: threading.Thread | None = None

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status, self.headers, self.received = status, dict(headers), body

    def response_file(self, status: int, headers: list[tuple[str, str]], file: str) -> None:
        self.status, self.headers = status, dict(headers)
        self.reading = threading.Thread(target=self._read, args=[os.open(file, os.O_RDONLY)], daemon=True)
        self.reading.start()

    def _read(self, opened: int) -> None:
        with open(opened, "rb") as file:
            self.received = file.read(-1 if self.reads is None else self.reads)
            if not self.leaves:
                self.closed.wait()


class LeavingClient(FileIO):
    """The writing end of a pipe. Its client reads each of the first two pieces at once, and then leaves."""

    def __init__(self, writing: int, client: int):
        super().__init__(writing, "wb")
        self.client: int | None = client
        self.pieces = 0

    def write(self, piece: Any) -> int | None:
        written = super().write(piece)
        if self.client is not None:
            self.pieces += 1
            os.read(self.client, PIPE_BYTES)
            if self.pieces == 2:
                os.close(self.client)
                self.client = None
        return written


def environ(method: str = "GET", path: str = "/v4/account", accepts: str = "", address: str = "192.0.2.1") -> Any:
    return {
        "REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_ACCEPT_ENCODING": accepts, "REMOTE_ADDR": address,
    }  # fmt: skip


def answered(content: bytes, *headers: tuple[str, str]) -> Answered:
    return Answered(200, [("Content-Length", str(len(content))), *headers], content)


def send(answer: Answered, request: Any = None, unread: int = 0) -> Connection:
    """Send one answer to a client that has `unread` bytes of others. Returns the connection."""

    async def sent() -> Connection:
        sender, connection = Answers(), Connection()
        sender.unread.count("192.0.2.1", unread)
        await sender.send(connection, CLIENT, request or environ(), answer)
        assert sender.unread.total == unread, "nothing is left behind"
        return connection

    connection = asyncio.run(sent())
    if connection.reading is not None:
        connection.reading.join()
    return connection


@pytest.mark.parametrize(
    ("size", "is_closed"), [(0, False), (MAX_SMALL_BYTES, False), (MAX_SMALL_BYTES + 1, True), (5_000_000, True)]
)
def test_an_answer_arrives_whole(size, is_closed):
    content = os.urandom(size)
    connection = send(answered(content))
    assert connection.status == 200
    assert connection.received == content
    assert connection.headers.get("Connection") == ("close" if is_closed else None)


def test_no_content_is_sent_for_head():
    connection = send(answered(bytes(MAX_SMALL_BYTES + 1)), environ("HEAD"))
    assert (connection.headers["Content-Length"], connection.received) == (str(MAX_SMALL_BYTES + 1), b"")


def test_a_client_that_leaves_ends_the_sending():
    async def sent() -> None:
        sender = Answers()
        await sender.send(Connection(reads=100_000), CLIENT, environ(), answered(bytes(5_000_000)))
        assert sender.unread.total == 0

    asyncio.run(sent())


def test_a_client_that_leaves_before_the_pipe_was_ever_full_ends_the_sending():
    """No other process reads then, so the full pipe would never have room again."""
    content = bytes(5_000_000)

    async def sent() -> None:
        reader, (reading, writing) = _Reader(Pace(1e6, 1e9)), os.pipe()
        with open(os.dup(reading), "rb", buffering=0) as ours, LeavingClient(writing, reading) as pipe:
            os.set_blocking(writing, False)
            with pytest.raises(BrokenPipeError):
                await asyncio.wait_for(reader.write(pipe, content, ours), 60)

    asyncio.run(sent())


def test_a_client_that_stands_still_is_cut_off(settings, monkeypatch):
    settings.ANSWER_TIMEOUT, settings.ANSWER_RATE = 0.01, 1e9
    ended: list[set[str]] = []

    def shut_down(late: set[str]) -> set[str]:
        ended.append(late)
        connection.closed.set()
        return set()

    monkeypatch.setattr(answers.sockets, "shut_down", shut_down)
    connection = Connection(reads=100_000, leaves=False)

    async def sent() -> None:
        sender = Answers()
        await sender.send(connection, CLIENT, environ(), answered(bytes(5_000_000)))
        assert sender.unread.total == 0

    asyncio.run(sent())
    assert ended == [{CLIENT}]


def test_bytes_are_unread_until_the_connection_is_closed(monkeypatch):
    """The server has taken all bytes from the pipe, and may still hold the last ones."""
    monkeypatch.setattr(answers, "POLL_SECONDS", 0)
    connected, calls = {CLIENT}, []

    def shut_down(late: set[str]) -> set[str]:
        calls.append(late)
        return {*connected}

    monkeypatch.setattr(answers.sockets, "shut_down", shut_down)

    async def sent() -> None:
        sender = Answers()
        task = asyncio.create_task(sender.send(Connection(), CLIENT, environ(), answered(bytes(5_000_000))))
        while len(calls) < 3:
            await asyncio.sleep(0)
        assert (sender.unread.total, dict(sender.unread.of)) == (5_000_000, {"192.0.2.1": 5_000_000})
        connected.clear()
        await task
        assert (sender.unread.total, dict(sender.unread.of)) == (0, {})

    asyncio.run(sent())
    assert not any(calls), "nobody is late"


def test_addresses_of_one_network_are_counted_together():
    unread = Unread()
    unread.count("2001:db8::/64", OF_ADDRESS)
    assert unread.refusal("2001:db8::/64", 1) == (429, answers.UNREAD)
    assert unread.refusal("2001:db8:0:1::/64", OF_ADDRESS * 2) is None, "one answer of any size"


def test_the_bytes_of_all_clients_have_a_bound():
    unread = Unread()
    assert unread.refusal("192.0.2.1", OF_PROCESS + 1) is None, "one answer of any size"
    unread.count("192.0.2.2", OF_PROCESS)
    assert unread.refusal("192.0.2.1", 1) == (503, answers.BUSY)


def test_a_refusal_keeps_the_headers_that_are_not_of_the_content():
    etag, limit = ("ETag", '"x"'), ("X-RateLimit-Limit", "800")
    connection = send(answered(bytes(MAX_SMALL_BYTES + 1), JSON, etag, limit), unread=OF_ADDRESS)
    assert (connection.status, connection.headers["Retry-After"]) == (429, answers.RETRY_SECONDS)
    assert connection.headers["X-RateLimit-Limit"] == "800"
    assert "ETag" not in connection.headers
    assert connection.headers["Content-Length"] == str(len(connection.received))
    assert answers.UNREAD.encode() in connection.received


def test_answers_to_changes_are_sent_despite_unread_answers():
    content = bytes(MAX_SMALL_BYTES + 1)
    assert send(answered(content), environ("POST"), unread=OF_PROCESS).received == content


@pytest.mark.parametrize(
    ("path", "size", "headers", "accepts", "is_compressed"),
    [
        ("/v4/account", compression.MIN_LARGE_BYTES, [JSON], "gzip", True),
        ("/v4/account", compression.MIN_LARGE_BYTES, [JSON], "", False),
        ("/v4/account", compression.MIN_LARGE_BYTES - 1, [JSON], "gzip", False),
        ("/admin/autocomplete/", compression.MIN_LARGE_BYTES, [JSON], "gzip", False),
        ("/v4/account", compression.MIN_LARGE_BYTES, [("Content-Type", "image/png")], "gzip", False),
        ("/v4/account", compression.MIN_LARGE_BYTES, [JSON, ("Content-Encoding", "gzip")], "gzip", False),
    ],
    ids=["json", "not accepted", "small", "page", "picture", "compressed"],
)
def test_large_json_of_the_api_is_compressed(path, size, headers, accepts, is_compressed):
    content = b"x" * size
    connection = send(answered(content, *headers), environ(path=path, accepts=accepts))
    got = gzip.decompress(connection.received) if is_compressed else connection.received
    assert got == content
    assert connection.headers["Content-Length"] == str(len(connection.received))


def test_caches_know_that_large_json_comes_in_two_encodings():
    answer = answered(b"x" * compression.MIN_LARGE_BYTES, JSON, ("Vary", "Authorization, X-Filter"))
    compressed, plain = send(answer, environ(accepts="gzip")), send(answer)
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert compressed.headers["Vary"] == plain.headers["Vary"] == "Authorization, X-Filter, Accept-Encoding"


def test_no_more_than_a_few_answers_are_compressed_at_a_time(monkeypatch):
    monkeypatch.setattr(answers, "COMPRESSED_AT_ONCE", 0)
    assert (
        "Content-Encoding"
        not in send(answered(b"x" * compression.MIN_LARGE_BYTES, JSON), environ(accepts="gzip")).headers
    )
