"""Consoles as drivers hand them out: an end of a pair of sockets."""

import socket
from contextlib import suppress


class SocketConsole:
    """A `compute.drivers.base.Console` whose other end somebody else serves: a thread, or a process."""

    def __init__(self, end: socket.socket):
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def read(self) -> bytes:
        with suppress(ConnectionResetError):
            return self._end.recv(65536)
        return b""

    def write(self, typed: bytes) -> int:
        try:
            return self._end.send(typed, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            return len(typed)  # who serves it is gone: reading says so

    def close(self) -> None:
        self._end.close()


def showing(text: str) -> SocketConsole:
    """A console that shows a text and ends."""
    end, other = socket.socketpair()
    with other:
        other.sendall(text.encode())
    return SocketConsole(end)
