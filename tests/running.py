"""Servers that tests run for a while."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Server(Protocol):
    """A server that was started. `wait` returns once it answers, and fails with its log if it never will."""

    def wait(self) -> None: ...

    def stop(self) -> None: ...


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    """Yield the server once it answers. Stops it at the end of the block."""
    try:
        server.wait()
        yield server
    finally:
        server.stop()


def is_web_process(command_line: Sequence[str]) -> bool:
    """Tell whether a process is one of granian's.

    Granian forks them until Python 3.13, with its own command line. From 3.14 on it spawns them, together with
    a tracker of resources, which does not count.
    """
    return "granian" in command_line or "--multiprocessing-fork" in command_line
