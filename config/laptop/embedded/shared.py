"""Keeps a server running as long as any process uses it."""

import fcntl
import os
from pathlib import Path
from typing import Protocol

from config.laptop.embedded.files import private_folder, writing

CLOSED = -1


class Server(Protocol):
    """The interface of a server that `Shared` runs. One process at a time calls its methods.

    `title` is the server's name for people, `package` the Python package with its programs, `variable` the
    environment variable that names another server to use instead.
    """

    name: str
    title: str
    package: str
    variable: str
    state: Path

    def answers(self) -> bool:
        """Tell whether the server runs and listens."""

    def start(self) -> None:
        """Start the server in the background and return when it serves. Raises `EmbeddedError`."""

    def stop(self) -> None:
        """Stop the server and return when it has exited."""


class Shared:
    """A context manager that runs the server inside the block, shared by any number of processes.

    Each user holds a shared lock on one file. The last user is the process that can turn its lock into an exclusive
    one. It stops the server. The kernel drops the locks of a killed process, so unlike a list of pids the count is
    right after SIGKILL.

    A second lock, the gate, allows one process at a time to start or stop the server. Without it, a new user could
    connect to a server that is being stopped.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._users = CLOSED

    def __enter__(self) -> "Shared":
        with self._gate():
            self._users = _open(self._path("users"))
            fcntl.flock(self._users, fcntl.LOCK_SH)
            try:
                self._start_if_down()
            except BaseException:
                self._stop_if_last()  # an error or Ctrl-C may have left the server half started
                raise
        return self

    def __exit__(self, *exc: object) -> None:
        with self._gate():
            self._stop_if_last()

    def revive(self) -> bool:
        """Start the server again if it died. Return whether it had died. Raises `EmbeddedError`."""
        if self.server.answers():
            return False
        with self._gate():
            return self._start_if_down()

    def _start_if_down(self) -> bool:
        if self.server.answers():
            return False
        self.server.start()
        return True

    def _stop_if_last(self) -> None:
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.server.stop()
        except BlockingIOError:
            pass  # another process still uses the server: the last user stops it
        finally:
            os.close(self._users)
            self._users = CLOSED

    def _gate(self) -> "_Gate":
        return _Gate(self._path("gate"))

    def _path(self, kind: str) -> Path:
        return private_folder(self.server.state) / f"{self.server.name}.{kind}"


class _Gate:
    """An exclusive lock between processes."""

    def __init__(self, path: Path) -> None:
        self._file = _open(path)

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *exc: object) -> None:
        os.close(self._file)


def _open(path: Path) -> int:
    with writing(path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
