"""The text console of a machine: what it printed, and then both directions.

All that a guest prints goes to the machine's log, and to whoever is connected. What is shown is read from the log
alone, so nothing is missing and nothing comes twice; the connection says when there is more, and takes what is
typed.
"""

import fcntl
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compute.drivers.qemu.agent import qmp
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machine_dirs import NoMachine, exists, is_on
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.agent.supervisor import EARLIER, LOG

TICK = 0.05
CONNECT_SECONDS = 5.0
HISTORY_BYTES = 64 << 10
KEYS_BYTES = 64 << 10
"""What is typed and waits for a guest that does not take it."""


def paths(store: Store, machine: str) -> tuple[Path, Path]:
    """The console's socket, which has one client at a time, and the log of what was printed on it."""
    if not exists(store, machine):
        raise NoMachine
    return store.machine(machine) / "console", store.machine(machine) / LOG


def history(store: Store, machine: str, most: int = HISTORY_BYTES) -> bytes:
    """The last of what was printed, of earlier boots too."""
    _, log = paths(store, machine)
    return Log(log).before(most)


def attach(store: Store, machine: str, reader: int, writer: int) -> None:
    """Show a console on the descriptor `writer`, what was printed before first, and type there what comes from
    `reader`: until that ends, or the machine is off. Raises as `attached`."""
    with attached(store, machine) as found:
        found.carry(reader, writer)


@contextmanager
def attached(store: Store, machine: str) -> Iterator["Attached"]:
    """Be at a machine's console, alone. Raises `Refused` where the machine is off, `Failed` where somebody else is
    at it."""
    with _connected(store, machine) as connection:
        yield Attached(connection, Log(store.machine(machine) / LOG))


class Attached:
    """The connection to a console, and the log of what is printed there."""

    def __init__(self, connection: socket.socket, log: "Log"):
        self._connection = connection
        self._log = log

    def carry(self, reader: int, writer: int) -> None:
        """Carry both directions, as `attach`."""
        show, keys = self._log.before(HISTORY_BYTES), b""
        while True:
            # What is to be shown waits for whoever looks. The connection never does: QEMU holds a guest up, after
            # some hundred letters, while nobody takes what it prints
            machine = self._connection.fileno()
            takes = {descriptor for descriptor, waits in ((writer, show), (machine, keys)) if waits}
            ready, writable = _ready({machine, reader}, takes, TICK)
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
                # as on a line to a machine that hangs, the rest is lost: who typed it is heard when they leave
                keys = (keys + typed)[:KEYS_BYTES]
        while show := show or self._log.more():
            show = show[os.write(writer, show) :]


class Log:
    """The log of a console, in two parts: what was there at first, and what comes then."""

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
                self.size = 0  # it began anew
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
            raise Failed("Somebody else is at this console.") from error
        try:
            connection = qmp.connect(path, CONNECT_SECONDS)
        except OSError as error:
            raise Failed("The console does not answer.") from error
        with connection:
            yield connection
    finally:
        os.close(lock)


def _ready(reading: set[int], writing: set[int], seconds: float) -> tuple[set[int], set[int]]:
    """Those that can be read, or have ended, and those that can be written. Not by `select.select`, which takes no
    descriptor beyond 1023: a process with thousands of connections has consoles as well."""
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
    """Throw away what the connection brought; False where it ended."""
    try:
        return bool(connection.recv(65536))
    except OSError:
        return False


def _taken(connection: socket.socket, keys: bytes) -> int:
    """How many of the keys the connection took. All, where it ended: reading says so."""
    try:
        return connection.send(keys, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0
    except OSError:
        return len(keys)
