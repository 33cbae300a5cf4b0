"""Ports of this machine that ``make serve`` may use."""

import socket


def bound(port: int) -> int:
    """Bind `port` for a moment, or any free port if it is 0, and return its number.

    Raises `OSError` if another process uses the port, and `OverflowError` above the last one.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return int(probe.getsockname()[1])
