"""Consoles that drivers return: one end of a socket pair."""

import socket
from contextlib import suppress


class SocketConsole:
    """A `compute.drivers.base.Console` whose other end a thread or a process serves."""

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
            return len(typed)  # the other end is gone, and `read` reports that

    def close(self) -> None:
        self._end.close()


def showing(text: str) -> SocketConsole:
    """Return a console that shows a text and ends."""
    end, other = socket.socketpair()
    with other:
        other.sendall(text.encode())
    return SocketConsole(end)
