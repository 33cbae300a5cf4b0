"""Limits the unread bytes of the TCP sockets of a serving process, and ends connections.

Granian does not close a connection whose client does not read. The kernel does: `TCP_USER_TIMEOUT` closes a
connection whose client has read nothing for that time. A connection inherits the options of the socket that
accepted it, so only the listening sockets get them.
"""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress

log = logging.getLogger(__name__)

IN_KERNEL = 128 * 1024
"""The unsent bytes that the kernel accepts for a connection.

Without this limit it accepts up to 4 MB (`tcp_wmem`).
"""
MAX_ATTEMPTS, PAUSE = 200, 0.05
"""The number of searches for the listening socket, and the seconds between two of them.

The server opens it late.
"""


class ReadTimeout:
    """Limits the unread bytes of each connection of this process, and closes it if its client reads nothing.

    `seconds` is how long a client may read nothing. Systems other than Linux lack this time limit. Unix sockets
    have no limits: their peer is a proxy of the installation.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.task: asyncio.Task[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.task = loop.create_task(self._set_when_listening())

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def _set_when_listening(self) -> None:
        for _ in range(MAX_ATTEMPTS):
            if limit_unread(self.seconds):
                return
            await asyncio.sleep(PAUSE)
        log.warning("No listening socket found: connections that read nothing are not closed.")


def limit_unread(seconds: float) -> int:
    """Set the limits on the listening sockets of this process. Return the number of these sockets."""
    found = 0
    for each in _sockets():
        with each:
            if not each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                continue
            found += 1
            if each.family not in (socket.AF_INET, socket.AF_INET6):
                continue
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(1, round(seconds * 1000)))
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, IN_KERNEL)
    return found


def shut_down(late: Collection[str]) -> set[str]:
    """End the connections to the peers `late`. Return the peers of all connections of the process.

    Peers are written as RSGI writes them: ``192.0.2.1:80``, ``[2001:db8::1]:80``. The function checks every open
    file of the process, which takes some milliseconds for each thousand.
    """
    connected = set()
    for each in _sockets():
        with each, suppress(OSError):  # not connected, or closed in this moment
            peer = _written(each.getpeername())
            connected.add(peer)
            if peer in late:
                each.shutdown(socket.SHUT_RDWR)
    return connected


def _sockets() -> Iterator[socket.socket]:
    """Yield duplicates of the sockets of this process. The server may reuse its own descriptors meanwhile."""
    for name in os.listdir("/dev/fd"):
        try:
            duplicate = os.dup(int(name))
        except OSError as error:
            if error.errno != errno.EBADF:  # closed in this moment, as the listed folder itself is
                raise
            continue
        try:
            yield socket.socket(fileno=duplicate)
        except OSError:  # no socket
            os.close(duplicate)


def _written(address: object) -> str:
    if not isinstance(address, tuple):
        return ""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
