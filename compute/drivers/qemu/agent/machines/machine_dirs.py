"""The directory of a machine: its lock, its description, and the processes that run it."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compute.drivers.qemu.agent import locks, records
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines.command_line import Machine
from compute.drivers.qemu.agent.store import Store

DESCRIPTION = "machine.json"
POWER = "power"
LOCK_FILE = "lock"
LOCK_SECONDS = 20.0


def boot_id() -> str:
    """The id of the host's current boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class NoMachine(Refused):
    """No such machine is defined on this host."""

    def __init__(self) -> None:
        super().__init__("The machine does not exist.")


@contextmanager
def locked_machine(
    store: Store, machine: str, timeout: float = LOCK_SECONDS, defined: bool = True, make: bool = False
) -> Iterator[tuple[Path, int]]:
    """Lock a machine for a verb. Yields its directory and the descriptor of the lock.

    A process that inherits the descriptor has the lock too. The lock is like `locks.lock_file`, but the directory
    is made only with `make`. Raises `NoMachine` if the directory is missing, or, with `defined`, the description.
    Raises `Failed` if another verb keeps the lock for `timeout` seconds.
    """
    directory = store.machine(machine)
    deadline = time.monotonic() + timeout
    while True:
        if make:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError as error:
            if make:
                continue  # the directory was deleted in this moment
            raise NoMachine from error
        try:
            if not _locked(descriptor):
                if time.monotonic() > deadline:
                    raise Failed("Another operation on this machine is in progress.")
                time.sleep(0.01)
                continue
            if not _is(descriptor, directory / LOCK_FILE):
                continue  # the machine was deleted while we waited
            if defined and not (directory / DESCRIPTION).exists():
                raise NoMachine
            yield directory, descriptor
            return
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def exists(store: Store, machine: str) -> bool:
    """Tell whether the machine is defined on this host."""
    return (store.machine(machine) / DESCRIPTION).exists()


def all_machines(store: Store) -> list[str]:
    """The names of the machines that are defined on this host."""
    return sorted(found.parent.name for found in (store.root / "machines").glob(f"*/{DESCRIPTION}"))


def described(directory: Path) -> Machine:
    found = records.read(directory / DESCRIPTION)
    if found is None:
        raise NoMachine
    return Machine(**found)


def is_on(directory: Path) -> bool:
    """Tell whether a machine's QEMU or supervisor lives: both lock the power file. Process ids are not trusted."""
    return locks.is_locked(directory / POWER)


def cut(directory: Path, timeout: float = 10.0) -> None:
    """Kill the machine's processes, and wait for their end. Raises `Failed` if they do not end in time."""
    deadline = time.monotonic() + timeout
    while is_on(directory):
        for pid in holders(directory):
            kill(pid)
        if time.monotonic() > deadline:
            raise Failed("The machine's process does not end.")
        time.sleep(0.01)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def holders(directory: Path) -> list[int]:
    """The process ids of a machine: processes that run in its directory and have its power file open.

    Without the first condition, a call that only tests the lock would be included.
    """
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and _holds(process, directory):
            found.append(int(process.name))
    return found


def _holds(process: Path, directory: Path) -> bool:
    try:
        if not os.path.samestat((process / "cwd").stat(), directory.stat()):
            return False
        power = (directory / POWER).stat()
        return any(_same(each, power) for each in (process / "fd").iterdir())
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return False  # the process has ended, or belongs to another user


def _same(descriptor: Path, power: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), power)
    except OSError:
        return False
