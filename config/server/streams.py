"""Requests with slow bodies: the loop reads them as they come, from any number of clients.

A `Receiver` processes such a body. Its calls block, so they run in a few threads, and none uses a thread while it
waits for bytes. At the end the WSGI handler answers in one of these threads. The environment has the received body,
or the exception that ended it. The view decides on the answer.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from django.db import close_old_connections

from config.api.responses import RECEIVED
from config.server import bodies
from config.server.application import (
    TOO_SLOW,
    Application,
    Exchange,
    Handler,
    Headers,
    Scope,
    TooLarge,
    Websockets,
    refuse,
)
from config.server.periodic import BackgroundService

log = logging.getLogger(__name__)

R = TypeVar("R")
THREADS = 4
"""The threads for the database and the disk, whatever the number of bodies in progress."""
SHARE = THREADS // 2
"""The threads in which the last words of one account may run at once. They may wait for a locked row."""
PIECE_BYTES = 256 * 1024
"""The bytes that are written at a time. The same number is kept in memory for each body."""


class Receiving(Protocol):
    """A body that is being received for an account. `close` is always called, last."""

    @property
    def account(self) -> int: ...

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


Receiver = Callable[[str, int], Receiving]
"""Begins to receive the body of a PUT, given its path and length. Raises if the body is refused."""


class Streams(Application):
    """A WSGI handler as an application of RSGI, for paths below `prefix`.

    Other requests are answered without a body.
    """

    def __init__(
        self,
        handler: Handler,
        prefix: str,
        receiver: Receiver,
        pace: bodies.Pace,
        websockets: Websockets | None = None,
        background: Sequence[BackgroundService] = (),
    ):
        super().__init__(handler, largest=0, websockets=websockets, background=background)
        self.prefix = prefix
        self.receiver = receiver
        self.pace = pace
        self.threads = ThreadPoolExecutor(THREADS, "stream")
        self.shares: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()
        """The share of each account with a body that is being received."""

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        if scope.proto == "ws":
            await self._websocket(scope, exchange)
            return
        headers = scope.headers
        pieces = bodies.Pieces(exchange, self.pace)
        length = int(headers.get("content-length") or 0)
        if scope.method != "PUT" or not scope.path.startswith(self.prefix) or not length:
            await self._last_word(scope, headers, exchange, None)
            await bodies.discard(pieces)
            return
        try:
            receiving = await self._in_thread(self.receiver, scope.path, length)
        except Exception as error:  # noqa: BLE001 - whatever it was, the view answers
            await self._last_word(scope, headers, exchange, error)
            await bodies.discard(pieces)
            return
        try:
            await self._receive(scope, exchange, pieces, receiving)
        finally:
            await self._in_thread(receiving.close)

    async def _receive(self, scope: Scope, exchange: Exchange, pieces: bodies.Pieces, receiving: Receiving) -> None:
        outcome: Receiving | Exception = receiving
        try:
            await self._copy(pieces, receiving)
        except TimeoutError:
            log.info("PUT from %s: timed out after %d bytes", scope.client, pieces.received)
            refuse(exchange, TOO_SLOW, 408)
            return
        except Exception as error:  # noqa: BLE001 - whatever it was, the view answers
            outcome = error
        async with self._share_of(receiving.account):
            await self._last_word(scope, scope.headers, exchange, outcome)
        if outcome is not receiving:
            await bodies.discard(pieces)

    def _share_of(self, account: int) -> asyncio.Semaphore:
        share = self.shares.get(account)
        if share is None:
            share = self.shares[account] = asyncio.Semaphore(SHARE)
        return share

    async def _copy(self, pieces: bodies.Pieces, receiving: Receiving) -> None:
        """Write the body as it comes. The sender waits while a piece is being written."""
        buffer = bytearray()
        first = True
        async for piece in pieces:
            buffer += piece
            if first or len(buffer) >= PIECE_BYTES:  # the first at once: an invalid file need not be received whole
                data, buffer, first = bytes(buffer), bytearray(), False
                await self._in_thread(receiving.write, data)
        if buffer:
            await self._in_thread(receiving.write, bytes(buffer))

    async def _last_word(
        self, scope: Scope, headers: Headers, exchange: Exchange, outcome: Receiving | Exception | None
    ) -> None:
        """Call the handler, which answers."""
        environ = self._environ(scope, headers, TooLarge() if "content-length" in headers else BytesIO())
        if outcome is not None:
            environ[RECEIVED] = outcome
        answered = await self._in_thread(self._handled, environ)
        await self.answers.send(exchange, scope.client, environ, answered)

    async def _in_thread(self, function: Callable[..., R], *arguments: Any) -> R:
        """Return the function's result. The function may block, and use the database as a request does."""

        def call() -> R:
            close_old_connections()
            try:
                return function(*arguments)
            finally:
                close_old_connections()

        return await self.loop.run_in_executor(self.threads, call)
