"""A relay between a browser and the site, whose connections break off in the middle of a large request."""

import socket
import threading
from urllib.parse import urlsplit

from tests.forwarding import Forwarder

LIMIT = 500_000
"""The bytes of a connection that a relay passes on before it pauses the connection."""


class Relay(Forwarder):
    """A relay from a port of its own to the site at `url`. Only large requests are paused and cut."""

    def __init__(self, url: str):
        self._target = ("127.0.0.1", urlsplit(url).port or 80)
        self._pausing = False
        self._cut = threading.Event()
        self.has_paused = threading.Event()
        """Set when a request is paused."""
        super().__init__(buffer=65_536)  # small, so that the browser waits with its request
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(self._target)

    def passes(self, sent: bytes, total: int, server: socket.socket) -> bool:
        if not self._pausing or (total <= LIMIT and not self._cut.is_set()):
            return True
        self.has_paused.set()
        self._cut.wait()
        return False

    def pause(self) -> None:
        """Pass everything on, and pause the next large request."""
        self._cut.clear()
        self.has_paused.clear()
        self._pausing = True

    def break_off(self) -> None:
        """Close the connection of the paused request, and all others: a browser may try again by itself."""
        self._cut.set()

    def mend(self) -> None:
        """Pass everything on again."""
        self._pausing = False
        self._cut.set()

    def close(self) -> None:
        self.mend()
        super().close()
