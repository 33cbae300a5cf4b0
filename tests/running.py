"""Servers that tests run for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Server(Protocol):
    """A server that was started. `wait` returns once it answers, and fails with its log where it never will."""

    def wait(self) -> None: ...

    def stop(self) -> None: ...


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    """The server, from when it answers until the end of the block."""
    try:
        server.wait()
        yield server
    finally:
        server.stop()
