"""Locks of files on the host: one for each machine's verbs, and those of QEMU on the disks in use."""

import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from compute.drivers.qemu.agent.errors import Failed, Refused

# QEMU's protocol (block/file-posix.c): a lock on byte 100 + p says "I use permission p", one on byte 200 + p
# "nobody else may use permission p". Byte 300 is ours: one agent at a time.
USED_BYTES, UNSHARED_BYTES, PERMISSIONS, AGENT_BYTE = 100, 200, 4, 300
_FLOCK = "hhqqi4x"
_inherited: ContextVar[tuple[int, ...]] = ContextVar("_inherited", default=())


def inherited_descriptors() -> tuple[int, ...]:
    """Return the descriptors of locks that programs started from this thread inherit."""
    return _inherited.get()


@contextmanager
def inherited(descriptor: int) -> Iterator[None]:
    """Pass the descriptor of a lock on to programs that are started in the block."""
    token = _inherited.set((*_inherited.get(), descriptor))
    try:
        yield
    finally:
        _inherited.reset(token)


@contextmanager
def lock_file(path: Path, timeout: float = 20.0) -> Iterator[None]:
    """Lock a file for the block. Raises `Failed` if another process keeps the lock for `timeout` seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while not _try(descriptor):
            if time.monotonic() > deadline:
                raise Failed("Another operation on this machine is in progress.")
            time.sleep(0.01)
        with inherited(descriptor):
            yield
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def lock_disk(path: Path, busy: str = "The disk is in use by a machine that is on.") -> Iterator[None]:
    """Lock a disk for the block, so that neither QEMU nor another agent opens it.

    Nothing else stops a check of a file system that a guest has mounted. Raises `Refused` with the text `busy` if
    QEMU has the disk open, and `Failed` if another agent has locked it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            _lock(descriptor, fcntl.F_WRLCK, AGENT_BYTE, 1)
            _lock(descriptor, fcntl.F_RDLCK, UNSHARED_BYTES, PERMISSIONS)
        except BlockingIOError as error:
            raise Failed("Another operation on this disk is in progress.") from error
        if has_user(descriptor):
            raise Refused(busy)
        with inherited(descriptor):
            yield
    finally:
        os.close(descriptor)


def is_in_use(path: Path) -> bool:
    """Tell whether a QEMU has the disk open."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return has_user(descriptor)
    finally:
        os.close(descriptor)


def has_user(descriptor: int) -> bool:
    """Tell whether another process has locked an open disk because it uses the disk."""
    return _is_locked(descriptor, USED_BYTES, PERMISSIONS)


def _is_locked(descriptor: int, start: int, length: int) -> bool:
    found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, start, length))
    return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)


def _lock(descriptor: int, kind: int, start: int, length: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(kind, start, length))


def _flock(kind: int, start: int, length: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process and the processes that inherit it, as long as one of them lives.

    Returns False if another process has locked it. `is_locked` takes no lock, so it disturbs nobody.
    """
    try:
        _lock(descriptor, fcntl.F_WRLCK, AGENT_BYTE, 1)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Tell whether a living process has locked the file with `try_lock`. False if there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, AGENT_BYTE, 1))
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)
