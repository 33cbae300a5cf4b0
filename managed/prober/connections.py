"""Connections for checks that a server cannot keep busy: everything that it may send has a limit.

All checks of a process share one event loop. Interim answers, empty lines and chunk extensions use its time without
any use. A server that sends them without end would make all checks late.
"""

import asyncio
import functools
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from managed.prober.text import PREFIX_BYTES

MAX_BYTES = 8 * PREFIX_BYTES
"""The maximum number of bytes from one connection: enough for the searched part of an answer in the smallest
chunks.
"""
MAX_HEADER_BYTES = 256 * 1024
"""The maximum number of bytes of headers. Incomplete headers stay in memory, and some servers are slow."""
MAX_INTERIM_ANSWERS = 20
"""The maximum number of interim answers (1xx) before the final one."""
PIECE_BYTES = 8 * 1024
"""The number of bytes of headers that are parsed at once."""
SWITCHED_STATUS = 101


class Connector(aiohttp.TCPConnector):
    """Makes connections that end if a server exceeds the limits. `flooded` tells that one did."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.flooded = False
        # The stubs require a class, but it is only called.
        handler: type[ResponseHandler] = functools.partial(_Handler, self)  # type: ignore[assignment]
        self._factory = functools.partial(handler, loop=self._loop)


class _Handler(ResponseHandler):
    def __init__(self, connector: Connector, loop: asyncio.AbstractEventLoop):
        super().__init__(loop=loop)
        self._connector = connector
        self._left, self._head, self._interim, self._begun = MAX_BYTES, MAX_HEADER_BYTES, MAX_INTERIM_ANSWERS, False

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, piece by piece until the final answer begins.

        So thousands of interim answers are not parsed at once.
        """
        self._left -= len(data)
        if self._left < 0:
            self._end()
        while not self._begun and len(data) > PIECE_BYTES and self._open:
            self._read(data[:PIECE_BYTES])
            data = data[PIECE_BYTES:]
        self._read(data)

    def _read(self, data: bytes) -> None:
        """Parse `data` or, if it is empty, the remaining bytes, which the payload requests when it has space."""
        if not self._begun:
            self._head -= len(data)
            if self._head < 0:
                self._end()
        if self._open:
            super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Queue an answer. A check does not need interim answers: they are counted and dropped."""
        if 100 <= data[0].code < 200 and data[0].code != SWITCHED_STATUS:
            self._interim -= 1
            if self._interim < 0:
                self._end()
        elif self._open:
            self._begun = True
            super().feed_data(data, size)

    @property
    def _open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def _end(self) -> None:
        self._connector.flooded = True
        if self.transport is not None:
            self.transport.abort()
