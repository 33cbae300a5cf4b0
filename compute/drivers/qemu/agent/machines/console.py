"""The text console of a machine: earlier output, and then both directions.

QEMU writes the guest's output to the machine's log and to the connected client. This module shows only the log, so
that no output is lost or shown twice. The connection signals new output, and takes typed keys.
"""

import fcntl
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import qmp
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine, exists, is_on
from compute.drivers.qemu.agent.machines.supervisor import EARLIER, LOG
from compute.drivers.qemu.agent.store import Store

POLL_SECONDS = 0.05
CONNECT_SECONDS = 5.0
HISTORY_BYTES = 64 << 10
KEYS_BYTES = 64 << 10
"""The maximum number of typed bytes that wait for a guest that does not read them."""


def paths(store: Store, machine: str) -> tuple[Path, Path]:
    """The console's socket, which has one client at a time, and the log of its output."""
    if not exists(store, machine):
        raise NoMachine
    return store.machine(machine) / "console", store.machine(machine) / LOG


def history(store: Store, machine: str, most: int = HISTORY_BYTES) -> bytes:
    """The last `most` bytes of output, including earlier boots."""
    _, log = paths(store, machine)
    return Log(log).before(most)


def attach(store: Store, machine: str, reader: int, writer: int) -> None:
    """Copy a console's output to the descriptor `writer`, earlier output first, and type what `reader` delivers.

    Return when `reader` ends or the machine is off. Raises like `attached`.
    """
    with attached(store, machine) as found:
        found.carry(reader, writer)


@contextmanager
def attached(store: Store, machine: str) -> Iterator["Attached"]:
    """Connect to a machine's console exclusively.

    Raises `Refused` if the machine is off, and `Failed` if somebody else uses the console.
    """
    with _connected(store, machine) as connection:
        yield Attached(connection, Log(store.machine(machine) / LOG))


class Attached:
    """The connection to a console, and the log of its output."""

    def __init__(self, connection: socket.socket, log: "Log"):
        self._connection = connection
        self._log = log

    def carry(self, reader: int, writer: int) -> None:
        """Copy both directions, as `attach` does."""
        show, keys = self._log.before(HISTORY_BYTES), b""
        while True:
            # Output waits for a slow reader, but the connection is always read: if nobody takes the guest's output,
            # QEMU stops the guest's printing after some hundred bytes
            machine = self._connection.fileno()
            takes = {descriptor for descriptor, waits in ((writer, show), (machine, keys)) if waits}
            ready, writable = _ready({machine, reader}, takes, POLL_SECONDS)
            if machine in ready and not _drained(self._connection):
                break
            if writer in writable:
                show = show[os.write(writer, show[: select.PIPE_BUF]) :]
            show = show or self._log.more()
            if machine in writable:
                keys = keys[_taken(self._connection, keys) :]
            if reader in ready:
                typed = os.read(reader, 4096)
                if not typed:
                    return
                # if the guest hangs, further keys are lost, as on a serial line: `reader` must be read, so that its
                # end is noticed
                keys = (keys + typed)[:KEYS_BYTES]
        while show := show or self._log.more():
            show = show[os.write(writer, show) :]


class Log:
    """The log of a console in two parts: the output before this object was made, and new output."""

    def __init__(self, path: Path):
        self._path = path
        self.size = path.stat().st_size if path.exists() else 0

    def before(self, most: int) -> bytes:
        earlier = self._path.with_name(EARLIER)
        printed = earlier.read_bytes() if earlier.exists() else b""
        if self.size:
            printed += self._path.read_bytes()[: self.size]
        return printed[-most:]

    def more(self) -> bytes:
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self.size:
                self.size = 0  # a new log was started
            file.seek(self.size)
            found = file.read()
            self.size += len(found)
            return found


@contextmanager
def _connected(store: Store, machine: str) -> Iterator[socket.socket]:
    path, _ = paths(store, machine)
    if not is_on(path.parent):
        raise Refused("The machine is off.")
    lock = os.open(path.with_name("console.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failed("Another user has this console open.") from error
        try:
            connection = qmp.connect(path, CONNECT_SECONDS)
        except OSError as error:
            raise Failed("The console does not answer.") from error
        with connection:
            yield connection
    finally:
        os.close(lock)


def _ready(reading: set[int], writing: set[int], seconds: float) -> tuple[set[int], set[int]]:
    """Wait until descriptors are ready, and return the readable or ended ones and the writable ones.

    `select.select` takes no descriptor above 1023, but processes with thousands of connections have consoles too.
    """
    poll = select.poll()
    for descriptor in reading | writing:
        wanted = select.POLLIN * (descriptor in reading) | select.POLLOUT * (descriptor in writing)
        poll.register(descriptor, wanted)
    found = dict(poll.poll(seconds * 1000))
    broken = select.POLLHUP | select.POLLERR
    return (
        {each for each in reading if found.get(each, 0) & (select.POLLIN | broken)},
        {each for each in writing if found.get(each, 0) & (select.POLLOUT | broken)},
    )


def _drained(connection: socket.socket) -> bool:
    """Discard received bytes. Return False if the connection ended."""
    try:
        return bool(connection.recv(65536))
    except OSError:
        return False


def _taken(connection: socket.socket, keys: bytes) -> int:
    """Send keys, and return how many bytes the connection took: all if it ended, since reading reports that."""
    try:
        return connection.send(keys, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0
    except OSError:
        return len(keys)
