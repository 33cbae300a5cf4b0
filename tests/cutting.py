"""A proxy in front of PostgreSQL that closes a connection at its COMMIT."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from django.db import connection

from tests.forwarding import Forwarder

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
"""The message that psycopg sends."""


class Cut(Enum):
    """The moment at which the connection is closed."""

    BEFORE = "the server does not get the COMMIT"
    AFTER = "the server has answered the COMMIT, and the client does not get the answer"
    MEANWHILE = "the server gets the COMMIT, and nobody knows what it does with it"


class Proxy(Forwarder):
    """A proxy from a port of its own to the test's database. Tests set `cut`, which applies once."""

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.away_after_cut = False
        """Whether the database is unreachable after a connection was closed."""
        self._target = connection.get_connection_params()
        super().__init__()

    def connect(self) -> socket.socket:
        host, port = self._target.get("host") or "127.0.0.1", self._target.get("port") or 5432
        if not host.startswith("/"):
            return socket.create_connection((host, int(port)))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def passes(self, sent: bytes, total: int, server: socket.socket) -> bool:
        if COMMIT not in sent or self.cut is None:
            return True
        self._end(server, sent)
        return False

    def _end(self, server: socket.socket, data: bytes) -> None:
        cut, self.cut = self.cut, None
        if self.away_after_cut:
            self.close()
        if cut is not Cut.BEFORE:
            server.sendall(data)
        if cut is Cut.AFTER:
            server.recv(1)


@contextmanager
def proxied() -> Iterator[Proxy]:
    """Route this thread's connection through a proxy."""
    usual = {name: connection.settings_dict[name] for name in ("HOST", "PORT", "OPTIONS")}
    proxy = Proxy()
    connection.close()
    options = {**usual["OPTIONS"], "sslmode": "disable"}
    connection.settings_dict.update({"HOST": "127.0.0.1", "PORT": proxy.port, "OPTIONS": options})
    try:
        yield proxy
    finally:
        connection.close()
        connection.settings_dict.update(usual)
        proxy.close()
