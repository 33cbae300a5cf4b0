"""QEMU's machine protocol: JSON, a line each, on a Unix socket."""

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
    """QEMU does not listen, does not answer in time, or ended while it was asked."""


class QMPError(Failed):
    """QEMU answered that it cannot."""

    def __init__(self, command: str, error: dict[str, Any]):
        super().__init__("The machine's QEMU refused a command of the host.")
        self.details = f"{command}: {error.get('desc', error)}"
        self.kind = error.get("class", "")


def connect(socket_path: Path, timeout: float) -> socket.socket:
    """A connection to a Unix socket, however long its path is: the kernel takes 107 bytes. Raises `OSError`."""
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
    """A conversation with a QEMU, which has one at a time on each socket. All of it together takes `timeout`
    seconds at most."""

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
        """Let QEMU carry out a command; what it returns."""
        return self._ask(command, arguments, [])

    @contextmanager
    def opened(self, path: Path) -> Iterator[str]:
        """The name by which QEMU opens a file within the block, which is opened here: QEMU's own user may not."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            number = self._ask("add-fd", {}, [descriptor])["fdset-id"]
        finally:
            os.close(descriptor)
        try:
            yield f"/dev/fdset/{number}"
        finally:
            # what it has opened by then it keeps; the locks of the file end with that
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
        """The first event of that name whose data match, of those that came meanwhile and those that come."""
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
        """Allow the conversation another `timeout` seconds from now."""
        self._deadline = time.monotonic() + timeout

    def read(self) -> bool:
        """Add to `events` those that are here already, waiting for none. False where QEMU ended."""
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
        """The process that listens: QEMU itself."""
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
