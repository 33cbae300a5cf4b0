"""Servers that tests run for a while."""

from collections.abc import Iterator, Sequence
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


def is_web_process(command_line: Sequence[str]) -> bool:
    """Whether a process is one of granian's.

    Granian forks them until Python 3.13: their command line is granian's own. From 3.14 on it spawns them, beside a
    tracker of resources that is none.
    """
    return "granian" in command_line or "--multiprocessing-fork" in command_line
