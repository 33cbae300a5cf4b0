"""The console of a guest, as a person types on it."""

import re
import select
import socket
import time
from pathlib import Path

TIMEOUT_SECONDS = 400.0
"""Seconds to wait for a guest's output, emulated on a busy machine."""


def _connected(path: Path) -> socket.socket:
    """Connect to QEMU's socket. The socket exists a moment before QEMU listens on it."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return connection


class Console:
    """A connection to QEMU's socket of a console, or to a socket that leads there."""

    def __init__(self, place: Path | socket.socket):
        self._socket = _connected(place) if isinstance(place, Path) else place
        self._output = b""

    def expect(self, pattern: bytes) -> re.Match[bytes]:
        """Wait for output that matches `pattern`, and drop all output up to the match."""
        assert self.prints(pattern, TIMEOUT_SECONDS), f"{pattern!r} is not in {self._output[-2000:]!r}"
        found = re.search(pattern, self._output)
        assert found
        self._output = self._output[found.end() :]
        return found

    def prints(self, pattern: bytes, seconds: float) -> bool:
        """Tell whether this is printed within `seconds`."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self._output):
            if time.monotonic() > deadline:
                return False
            if select.select([self._socket], [], [], 0.2)[0]:
                more = self._socket.recv(4096)
                assert more, f"the console was closed after {self._output[-2000:]!r}"
                self._output += more
        return True

    def printed(self) -> str:
        """Return the output that was not dropped yet."""
        return self._output.decode(errors="replace")

    def wake(self) -> None:
        """Make the login prompt appear again. A getty that has just started drops earlier input."""
        self.type("\n")
        while not self.prints(b"login: ", 3):
            self.type("\n")

    def type(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def log_in(self, password: str) -> None:
        self.expect(b"login: ")
        self.type("root\n")
        self.expect(b"assword: ")
        self.type(f"{password}\n")
        self.expect(b"# ")

    def run(self, command: str) -> str:
        """Run a command, and return its output. The echo has no marks, because only the shell joins their
        parts."""
        self.type(f"echo BE''GIN; {command}; echo E''ND\n")
        return self.expect(rb"(?s)BEGIN\r?\n(.*?)END\r?\n")[1].decode(errors="replace").replace("\r", "").strip()

    def gone(self) -> None:
        """Wait for the end of the console, whatever it prints before."""
        while select.select([self._socket], [], [], TIMEOUT_SECONDS)[0]:
            if not self._socket.recv(4096):
                return
        raise AssertionError("the console does not end")

    def close(self) -> None:
        self._socket.close()
