"""Readers of bodies at the pace of their senders, without a thread: a slow body costs a connection and a few
kilobytes.

A body has `BODY_TIMEOUT` seconds, and 1 / `BODY_RATE` seconds more for each byte. A sender that stops is cut off
after `BODY_TIMEOUT`. A sender that is slower than the rate is cut off a little later.
"""

import asyncio
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from time import monotonic
from typing import IO, Protocol, Self

MAX_SMALL_BYTES = 64 * 1024
"""The maximum bytes of a body that is one object in memory. Nearly all bodies are."""
IN_MEMORY = 256 * 1024
"""The bytes of a larger body that are kept in memory, before it goes to a temporary file."""
MAX_DISCARDED_BYTES = 64 * 1024**2
"""The bytes of an unwanted body that are still read, so that its sender finishes and reads the answer."""


class Receiving(Protocol):
    """A request in progress, in the form of RSGI: its body whole, or in pieces, of which the last one may be
    empty.
    """

    async def __call__(self) -> bytes: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Incomplete(Exception):
    """The client disconnected before the end of its body."""


class Pace:
    """The time for a body: `grace` seconds, and as long as its bytes take at `rate` bytes a second."""

    def __init__(self, grace: float, rate: float):
        self.grace = grace
        self.rate = rate

    def seconds(self, received: int) -> float:
        """Return the maximum seconds from a body's start to its end if at most `received` bytes have come."""
        return self.grace + received / self.rate


class Pieces:
    """The pieces of a body as they come, without empty ones. Raises TimeoutError if they are slower than the pace.

    Only the time of waiting for the sender counts. Processing a piece does not.
    """

    def __init__(self, request: Receiving, pace: Pace):
        self.source = aiter(request)
        self.pace = pace
        self.received = 0
        self.waited = 0.0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            since = monotonic()
            async with asyncio.timeout(self.pace.seconds(self.received) - self.waited):
                piece = await anext(self.source)
            self.waited += monotonic() - since
            if piece:
                self.received += len(piece)
                return piece


async def whole(request: Receiving, length: int, pace: Pace) -> bytes | IO[bytes]:
    """Return the body of `length` bytes: as bytes, or as a file at its start if it is not small.

    Raises TimeoutError if it is slower than the pace, and `Incomplete` if it is cut off.
    """
    if length <= MAX_SMALL_BYTES:
        async with asyncio.timeout(pace.seconds(length)):
            try:
                body = await request()
            except RuntimeError as error:
                raise Incomplete from error
        return body
    file: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by its reader
    try:
        async for piece in Pieces(request, pace):
            file.write(piece)
        if file.tell() < length:
            raise Incomplete
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


async def up_to(pieces: Pieces, most: int) -> IO[bytes]:
    """Return a body of unknown length, as a file at its start: all of it, or a part of more than `most` bytes.

    Raises TimeoutError if it is slower than the pace.
    """
    file: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by its reader
    try:
        async for piece in pieces:
            file.write(piece)
            if pieces.received > most:
                break
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


async def discard(pieces: Pieces) -> None:
    """Read on after the answer, up to `MAX_DISCARDED_BYTES` bytes.

    Closing the connection earlier would reset a client that still sends, and the client would lose the answer.
    """
    try:
        async for _ in pieces:
            if pieces.received > MAX_DISCARDED_BYTES:
                return
    except TimeoutError:
        return
