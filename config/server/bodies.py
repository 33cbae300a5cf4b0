"""Reading bodies at the pace of their senders, without a thread: slow ones cost a connection and a few kilobytes.

Each byte buys its sender 1 / `BODY_RATE` seconds, beside `BODY_TIMEOUT` for all of the body: who stands still is
cut off after `BODY_TIMEOUT`, who trickles at less than the rate a little later.
"""

import asyncio
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from time import monotonic
from typing import IO, Protocol, Self

SMALL = 64 * 1024
"""Bytes up to which a body is one object in memory; nearly all are."""
IN_MEMORY = 256 * 1024
"""Bytes of a larger body that are kept in memory, before it goes to a temporary file."""
DISCARDED = 64 * 1024**2
"""Bytes that are read on of a body that nobody wants, so that its sender comes to read the answer."""


class Receiving(Protocol):
    """A request under way, as RSGI has it: its body whole, or in pieces, of which the last one may be empty."""

    async def __call__(self) -> bytes: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Incomplete(Exception):
    """The client left before all of its body had come."""


class Pace:
    """The time a body has: `grace` seconds, and as long as its bytes take at `rate` bytes a second."""

    def __init__(self, grace: float, rate: float):
        self.grace = grace
        self.rate = rate

    def seconds(self, received: int) -> float:
        """Seconds from a body's start to its end, as long as no more than `received` bytes have come."""
        return self.grace + received / self.rate


class Pieces:
    """A body's pieces as they come, none of them empty. Raises TimeoutError where they come slower than the pace.

    Only the time that is waited for the sender counts, not that of what is done with a piece.
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
    """The body of `length` bytes: as bytes, or as a file at its start where it is not small.

    Raises TimeoutError where it comes slower than the pace, and `Incomplete` where it is cut off.
    """
    if length <= SMALL:
        async with asyncio.timeout(pace.seconds(length)):
            try:
                body = await request()
            except RuntimeError as error:
                raise Incomplete from error
        return body
    file: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by whoever reads it
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
    """A body of no known length, as a file at its start: all of it, or a part of more than `most` bytes.

    Raises TimeoutError where it comes slower than the pace.
    """
    file: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by whoever reads it
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
    """Read on after the answer, up to `DISCARDED` bytes. A connection closed before resets the one who still sends,
    and takes the answer along."""
    try:
        async for _ in pieces:
            if pieces.received > DISCARDED:
                return
    except TimeoutError:
        return
