"""QEMU's machine protocol (QMP): one JSON object per line, on a Unix socket."""

import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from compute.drivers.qemu.agent.errors import Failed

Event = dict[str, Any]


class Silent(Failed):
    """QEMU does not listen, did not answer in time, or ended during a command."""


class QMPError(Failed):
    """QEMU answered a command with an error."""

    def __init__(self, command: str, error: dict[str, Any]):
        super().__init__("The machine's QEMU refused a command of the host.")
        self.details = f"{command}: {error.get('desc', error)}"
        self.kind = error.get("class", "")


def connect(socket_path: Path, timeout: float) -> socket.socket:
    """Connect to a Unix socket. The path may exceed the kernel's limit of 107 bytes. Raises `OSError`."""
    directory = os.open(socket_path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        connection.connect(f"/proc/self/fd/{directory}/{socket_path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(directory)
    return connection


class QMP:
    """A connection to a QEMU, which accepts one at a time on each socket.

    All commands together may take at most `timeout` seconds.
    """

    def __init__(self, path: Path, timeout: float = 5.0):
        self.events: list[Event] = []
        self._deadline = time.monotonic() + timeout
        self._buffer = b""
        try:
            self._socket = connect(path, timeout)
        except OSError as error:
            raise Silent("The machine's QEMU does not answer.") from error
        try:
            self._next()
            self.call("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise

    def call(self, command: str, **arguments: Any) -> Any:
        """Run a command of QEMU, and return its result."""
        return self._ask(command, arguments, [])

    @contextmanager
    def opened(self, path: Path) -> Iterator[str]:
        """Open a file for QEMU, whose own user may not open it. Yields the name that QEMU can open in the block."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            number = self._ask("add-fd", {}, [descriptor])["fdset-id"]
        finally:
            os.close(descriptor)
        try:
            yield f"/dev/fdset/{number}"
        finally:
            # QEMU keeps the file if it opened it in the block; otherwise this closes the file
            self.call("remove-fd", **{"fdset-id": number})

    def _ask(self, command: str, arguments: dict[str, Any], files: list[int]) -> Any:
        request = {"execute": command, "arguments": arguments}
        self._limit()
        try:
            text = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(self._socket, [text], files) if files else 0
            self._socket.sendall(text[sent:])
        except OSError as error:
            raise Silent("The machine's QEMU does not answer.") from error
        while True:
            message = self._next()
            if "event" in message:
                self.events.append(message)
            elif "error" in message:
                raise QMPError(command, message["error"])
            else:
                return message["return"]

    def wait(self, event: str, match: Callable[[dict[str, Any]], bool] = lambda data: True) -> Event:
        """Return the first event of this name whose data match, from received events or new ones."""
        seen = 0
        while True:
            for each in self.events[seen:]:
                if each["event"] == event and match(each.get("data", {})):
                    self.events.remove(each)
                    return each
            seen = len(self.events)
            message = self._next()
            if "event" in message:
                self.events.append(message)

    def extend(self, timeout: float) -> None:
        """Set the deadline to `timeout` seconds from now."""
        self._deadline = time.monotonic() + timeout

    def read(self) -> bool:
        """Add received events to `events` without waiting. Return False if QEMU ended."""
        self._socket.setblocking(False)
        lives = True
        try:
            while received := self._socket.recv(65536):
                self._buffer += received
            lives = False
        except BlockingIOError:
            pass
        except OSError:
            lives = False
        *lines, self._buffer = self._buffer.split(b"\n")
        self.events += [message for message in map(json.loads, lines) if "event" in message]
        return lives

    def fileno(self) -> int:
        return self._socket.fileno()

    def pid(self) -> int:
        """The id of the listening process, which is QEMU."""
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0])

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            self._limit()
            try:
                received = self._socket.recv(65536)
            except OSError as error:
                raise Silent("The machine's QEMU does not answer.") from error
            if not received:
                raise Silent("The machine's QEMU ended.")
            self._buffer += received
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Silent("The machine's QEMU does not answer.")
        self._socket.settimeout(left)
