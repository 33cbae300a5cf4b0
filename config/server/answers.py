"""Sends finished answers at the pace of their clients, so that unread bytes are bounded.

Granian copies an answer that it gets as bytes, and queues the pieces of a stream without a bound. It reads only
files as the client reads the answer. So a large answer goes through a pipe, which Granian opens as a file: the pipe
takes the next piece when the client has read an earlier one.

A client has `ANSWER_TIMEOUT` seconds for a large answer, and 1 / `ANSWER_RATE` seconds more for each byte. Granian
gets small answers as bytes: the kernel closes connections whose clients read nothing (`config.server.sockets`).
"""

import asyncio
import fcntl
import logging
import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from io import FileIO
from time import monotonic
from typing import Any, NamedTuple, Protocol

from django.conf import settings

from config.api.responses import CONTENT_TYPE, error_response
from config.server import sockets
from config.server.bodies import Pace
from config.web import compression
from config.web.client_address import network_in

log = logging.getLogger(__name__)

MAX_SMALL_BYTES = 128 * 1024
"""The largest answer, in bytes, that Granian gets as bytes. Lists of 100 are shorter."""
PIPE_BYTES = 64 * 1024
"""The number of bytes that a pipe takes at a time."""
OF_ADDRESS = 32 * 1024**2
"""The maximum number of unread bytes of large answers to one client network, in each process."""
OF_PROCESS = 256 * 1024**2
"""The maximum number of unread bytes of large answers to all clients, in each process."""
COMPRESSED_AT_ONCE = 8
"""The maximum number of answers that are compressed or wait for it. Further ones are sent uncompressed."""
POLL_SECONDS, POLL_SHARE = 0.05, 20
"""The shortest pause in seconds between two checks of all sockets of the process.

The pause is at least this many times as long as a check.
"""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNREAD = "Read the answers to your earlier requests first"
BUSY = "Too many answers are unread: try again in a few seconds"
RETRY_SECONDS = "5"
"""Seconds after which a refused client may try again."""
OF_CONTENT = frozenset({"content-type", "content-length", "content-encoding", "etag", "last-modified", "vary",
    "cache-control", "content-disposition", "retry-after"})  # fmt: skip
"""Headers that describe the content of an answer. An answer that replaces it does not keep them."""


class Answered(NamedTuple):
    """An answer of the handler."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


class Sending(Protocol):
    """The protocol object of RSGI that sends an answer."""

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...

    def response_file(self, status: int, headers: list[tuple[str, str]], file: str) -> None: ...


class Unread:
    """Counts the bytes of large answers whose connections are still open: for each client network, and for all."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()
        self.total = 0

    def refusal(self, network: str, size: int) -> tuple[int, str] | None:
        """Return the status and reason of a refusal to send `size` more bytes to a network, or None.

        A network without an unread answer may have one of any size, unless others use up the bound of the process.
        """
        if self.of[network] and self.of[network] + size > OF_ADDRESS:
            return 429, UNREAD
        if self.total and self.total + size > OF_PROCESS:
            return 503, BUSY
        return None

    def count(self, network: str, size: int) -> None:
        self.of[network] += size
        self.total += size
        if not self.of[network]:
            del self.of[network]


class Answers:
    """Sends the answers of one application. Its methods are called on the event loop, so it needs no lock."""

    def __init__(self) -> None:
        self.pace = Pace(settings.ANSWER_TIMEOUT, settings.ANSWER_RATE)
        self.unread = Unread()
        self.threads = ThreadPoolExecutor(2, "answers")
        self.compressing = 0
        self.closings = Closings(self.threads)

    async def send(self, exchange: Sending, client: str, environ: Mapping[str, Any], answered: Answered) -> None:
        """Send the answer to the request in `environ`. Return after a large answer has been read.

        `client` is the peer of the connection. If too many bytes are unread, a large answer to a safe method is
        replaced by a 429 or 503. Other methods have had their effect, so their answers are always sent.
        """
        if len(answered.content) <= MAX_SMALL_BYTES or environ.get("SERVER_PROTOCOL") == "HTTP/2":
            # HTTP/2 sends many answers on one connection, and the end of one of them cannot close it.
            exchange.response_bytes(*answered)
            return
        method = environ["REQUEST_METHOD"]
        if method == "HEAD":
            exchange.response_bytes(answered.status, answered.headers, b"")
            return
        network, size = network_in(environ), len(answered.content)
        refusal = self.unread.refusal(network, size) if method in SAFE_METHODS else None
        if refusal is not None:
            log.info("%s of %d bytes for %s is refused: unread answers have %d bytes", method, size, network,
                self.unread.of[network])  # fmt: skip
            exchange.response_bytes(*_refused(answered, *refusal))
            return
        self.unread.count(network, size)
        try:
            answered = await self._compressed(environ, answered)
            if len(answered.content) <= MAX_SMALL_BYTES:
                exchange.response_bytes(*answered)
            else:
                await self._send_by_pieces(exchange, client, answered)
        finally:
            self.unread.count(network, -size)

    async def _compressed(self, environ: Mapping[str, Any], answered: Answered) -> Answered:
        """Return the answer, compressed if it is large JSON of the API and the client accepts gzip.

        Pages are not compressed, because browsers send cookies for them: docs/decisions/slow-clients.md says why.
        """
        if len(answered.content) < compression.MIN_LARGE_BYTES or not environ["PATH_INFO"].startswith("/v4"):
            return answered
        headers = {name.lower(): value for name, value in answered.headers}
        if headers.get("content-type") != CONTENT_TYPE or "content-encoding" in headers:
            return answered
        varied = ", ".join(filter(None, (headers.get("vary"), "Accept-Encoding")))
        content, changed = answered.content, {"vary": ("Vary", varied)}
        accepted = environ.get("HTTP_ACCEPT_ENCODING", "")
        if self.compressing < COMPRESSED_AT_ONCE and compression.accepts_gzip(accepted):
            self.compressing += 1
            try:
                content = await asyncio.get_running_loop().run_in_executor(
                    self.threads, compression.compress_quickly, content
                )
            finally:
                self.compressing -= 1
            changed["content-encoding"] = "Content-Encoding", "gzip"
            changed["content-length"] = "Content-Length", str(len(content))
        kept = [(name, value) for name, value in answered.headers if name.lower() not in changed]
        return Answered(answered.status, [*kept, *changed.values()], content)

    async def _send_by_pieces(self, exchange: Sending, client: str, answered: Answered) -> None:
        """Send an answer through a pipe, and return when its connection is closed.

        The connection is closed after it, because Granian does not otherwise report that the client has read
        everything.
        """
        reader = _Reader(self.pace)
        reading, writing = os.pipe()
        ours, pipe = open(reading, "rb", buffering=0), open(writing, "wb", buffering=0)  # noqa: SIM115
        try:
            os.set_blocking(writing, False)
            headers = [*answered.headers, ("Connection", "close")]
            exchange.response_file(answered.status, headers, f"/dev/fd/{reading}")
            await reader.write(pipe, answered.content, ours)
            pipe.close()
            await reader.wait(self.closings.closing(client))
        except TimeoutError:
            log.info("An answer of %d bytes to %s is not read in time", len(answered.content), client)
            await self.closings.shut_down(client)
        except BrokenPipeError:
            pass  # the client has left
        finally:
            # Not before the connection is closed: Granian may open the pipe late, by a number that another file
            # would then have.
            pipe.close()
            ours.close()


class Closings:
    """Waits until connections of this process are closed, and ends those that are too slow.

    Granian does not report that it has closed a connection, so this class lists the sockets of the process.
    """

    def __init__(self, threads: Executor) -> None:
        self.threads = threads
        self.waiting: dict[str, asyncio.Future[None]] = {}
        self.late: set[str] = set()
        self.polling: asyncio.Task[None] | None = None

    def closing(self, client: str) -> asyncio.Future[None]:
        """Return a future that is done when the connection to `client`, an address and port, is closed."""
        closed = self.waiting.setdefault(client, asyncio.get_running_loop().create_future())
        if self.polling is None or self.polling.done():
            self.polling = asyncio.get_running_loop().create_task(self._poll_sockets())
        return closed

    async def shut_down(self, client: str) -> None:
        """End the connection at the next check of the sockets, and return when it is closed."""
        self.late.add(client)
        await self.closing(client)

    async def _poll_sockets(self) -> None:
        while self.waiting:
            asked, late, self.late = [*self.waiting], self.late, set()
            since = monotonic()
            try:
                connected = await asyncio.get_running_loop().run_in_executor(self.threads, sockets.shut_down, late)
            except OSError as error:  # no file can be opened now
                log.warning("The connections of this process cannot be listed, which is tried again: %s", error)
                self.late |= late
                connected = set(asked)
            for client in asked:
                if client not in connected and not (closed := self.waiting.pop(client)).done():
                    closed.set_result(None)
            await asyncio.sleep(max(POLL_SECONDS, (monotonic() - since) * POLL_SHARE))


class _Reader:
    """The client of one answer. Only the time of waiting for the client counts."""

    def __init__(self, pace: Pace):
        self.pace = pace
        self.written = 0
        self.waited = 0.0

    async def write(self, pipe: FileIO, content: bytes, ours: FileIO) -> None:
        """Write the content to the pipe as the client reads it. `ours` is the reading end, which Granian opens once
        more.

        `ours` is closed when more was written than the pipe can contain: then Granian has read from its own end,
        and the pipe breaks when Granian stops reading. Raises TimeoutError if the client is slower than the pace,
        and BrokenPipeError if the client has left.
        """
        view, capacity = memoryview(content), fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
        while self.written < len(view):
            written = pipe.write(view[self.written : self.written + PIPE_BYTES])
            if written is not None:
                self.written += written
                if self.written > capacity:
                    ours.close()
                continue
            await self._wait_for_room(pipe)

    async def _wait_for_room(self, pipe: FileIO) -> None:
        loop = asyncio.get_running_loop()
        room: asyncio.Future[None] = loop.create_future()
        loop.add_writer(pipe, _note, room)
        try:
            await self.wait(room)
        finally:
            loop.remove_writer(pipe)

    async def wait(self, event: asyncio.Future[None]) -> None:
        """Wait for an event that the client causes by reading. Raises TimeoutError as `write` does."""
        since = monotonic()
        try:
            async with asyncio.timeout(self.pace.seconds(self.written) - self.waited):
                await asyncio.shield(event)
        except TimeoutError:
            if not event.done():  # for example when the loop, and not the client, has stood still
                raise
        self.waited += monotonic() - since


def _note(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _refused(answered: Answered, status: int, reason: str) -> Answered:
    """Return the refusal that replaces an answer. Headers that do not describe the content are kept."""
    response = error_response([{"field": None, "reason": reason}], status)
    kept = [(name, value) for name, value in answered.headers if name.lower() not in OF_CONTENT]
    return Answered(status, [*kept, *response.items(), ("Retry-After", RETRY_SECONDS)], response.content)
