"""The TCP sockets of a serving process, which RSGI does not show: a limit on their unread bytes, and their end.

The HTTP server closes no connection because its client does not read. The kernel does: `TCP_USER_TIMEOUT` closes a
connection whose client has taken nothing for that long. A connection inherits the options of the socket that
accepted it, so they are set on the listening sockets alone.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress

log = logging.getLogger(__name__)

IN_KERNEL = 128 * 1024
"""Unsent bytes that the kernel takes for a connection. Without it the kernel takes up to 4 MB (`tcp_wmem`)."""
LOOKS, PAUSE = 200, 0.05
"""The listening socket is looked for so often, after so many seconds each: it exists when the process serves."""


class ReadTimeout:
    """Limits the unread bytes of each connection of this process, and closes it if its client reads nothing.

    `seconds` is how long that may last. Systems other than Linux lack the time limit. Unix sockets have neither:
    the peer is a proxy of the installation.
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
        for _ in range(LOOKS):
            if limit_unread(self.seconds):
                return
            await asyncio.sleep(PAUSE)
        log.warning("No listening socket found: connections that read nothing are not closed.")


def limit_unread(seconds: float) -> int:
    """Set the limits on the listening sockets of this process, and return how many of these there are."""
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
    """End the connections to the peers `late`, and return the peers of all that the process had.

    Peers are written as RSGI writes them: ``192.0.2.1:80``, ``[2001:db8::1]:80``. The function looks at every open
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
    """Duplicates of the sockets of this process: a descriptor of the server's may become another file meanwhile."""
    for name in os.listdir("/dev/fd"):
        try:
            duplicate = os.dup(int(name))
        except OSError:  # closed in this moment, as the folder that was listed is
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
