"""A forwarder between a client and a server, for tests that break connections."""

import select
import socket
import threading
from contextlib import suppress


class Forwarder:
    """Base of forwarders from a port of their own. Each connection has a thread."""

    def __init__(self, buffer: int | None = None):
        """`buffer` is the size of the receive buffer in bytes, or None for the system's."""
        self._listener = socket.socket()
        if buffer is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self) -> socket.socket:
        """Return a new connection to the server."""
        raise NotImplementedError

    def passes(self, sent: bytes, total: int, server: socket.socket) -> bool:
        """Tell whether `sent`, the last of `total` bytes of a client, goes to the server. If not, both connections
        are closed."""
        raise NotImplementedError

    def close(self) -> None:
        with suppress(OSError):  # it is closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # the forwarder is closed
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        total = 0
        with client, self.connect() as server, suppress(ConnectionError):
            while True:
                for end in select.select([client, server], [], [])[0]:
                    data = end.recv(65_536)
                    total += len(data) if end is client else 0
                    if not data or (end is client and not self.passes(data, total, server)):
                        return
                    (server if end is client else client).sendall(data)
