"""``manage.py serve`` for tests: a process of its own, in a state folder of its own."""

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import psutil

from config.laptop.embedded import Postgres, Valkey
from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT_SECONDS = 300
"""Seconds that a start or a stop may take on any machine."""
SERVE = (sys.executable, "manage.py", "serve")
TOKEN = re.compile(r"^(restricted )?token: ([0-9a-f]{64})$", re.MULTILINE)


def environment(state: Path) -> dict[str, str]:
    """Return the environment of a shell where no variable is set: the embedded services, in `state`.

    A make that runs the tests passes its own arguments to every make below it.
    """
    ours = (
        "DATABASE_URL",
        "REDIS_URL",
        "PORT",
        "SITE_URL",
        "PRODUCTION",
        "STREAM_URL",
        "MAKEFLAGS",
        "MAKEOVERRIDES",
        "MFLAGS",
    )
    return {name: value for name, value in os.environ.items() if name not in ours} | {"STATE_DIR": str(state)}


class Server:
    """A process of ``manage.py serve``, or of `command` in `folder`, with its output on a pipe or on a terminal.

    `env` are variables besides its state folder and its port.
    """

    def __init__(
        self,
        state: Path,
        *,
        terminal: bool = False,
        command: Sequence[str] = SERVE,
        folder: Path = ROOT,
        **env: str,
    ) -> None:
        self.state = state
        self.port = free_port()
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a piece may end within a character
        self._reading: threading.Thread | None = None
        self.output, out = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(state) | {"PORT": str(self.port), **env}, stdin=subprocess.DEVNULL,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
        os.close(out)

    def read(self, until: str | None = None) -> str:
        """Return its whole output, up to `until` or to its end."""
        while until is None or until not in self.text:
            readable, _, _ = select.select([self.output], [], [], None if self._reading else TIMEOUT_SECONDS)
            assert readable, f"it is silent without {until!r}:\n{self.text}"
            try:
                more = os.read(self.output, 65536)
            except OSError:  # a terminal ends in this way
                more = b""
            if not more:
                assert until is None, f"it ended without {until!r}:\n{self.text}"
                break
            self.text += self._decoder.decode(more)
        return self.text

    def ready(self) -> str:
        return self.read(until="/account/users/restricted/grants")

    def tokens(self) -> list[str]:
        """Return the tokens of the owner and of the restricted user."""
        return [token for _, token in TOKEN.findall(self.text.replace("\r\n", "\n"))]

    def status(self, token: str) -> int:
        """Return the status of a request with that token."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v4/account", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def read_on(self) -> None:
        """Read the output from now on. A server with much output blocks if nobody reads."""
        self._reading = threading.Thread(target=self.read, daemon=True)
        self._reading.start()

    def stop(self) -> int:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)  # as a terminal does
        if self._reading is None:
            self.read()
        else:
            self._reading.join()
        os.close(self.output)
        return self.process.wait(TIMEOUT_SECONDS)

    def kill(self) -> None:
        """Kill it with all its children, if a failed test has not stopped it."""
        if self.process.poll() is None:
            for process in [*psutil.Process(self.process.pid).children(recursive=True), self.process]:
                process.kill()
            self.process.wait()
            stop_services(self.state)


def stop_services(state: Path) -> None:
    """Stop database and broker, which are no children of the server."""
    for service in (Postgres(state), Valkey(state)):
        if service.answers():
            service.stop()
