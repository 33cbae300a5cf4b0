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
USED, UNSHARED, PERMISSIONS, OURS = 100, 200, 4, 300
_FLOCK = "hhqqi4x"
_held: ContextVar[tuple[int, ...]] = ContextVar("_held", default=())


def held_here() -> tuple[int, ...]:
    """The descriptors of the locks that this thread holds."""
    return _held.get()


@contextmanager
def counted(descriptor: int) -> Iterator[None]:
    """Count a descriptor among the locks that programs run from here hold as well."""
    token = _held.set((*_held.get(), descriptor))
    try:
        yield
    finally:
        _held.reset(token)


@contextmanager
def held(path: Path, timeout: float = 20.0) -> Iterator[None]:
    """Hold a lock file for the block. Raises `Failed` where somebody else has it for `timeout` seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while not _try(descriptor):
            if time.monotonic() > deadline:
                raise Failed("Something else works on this machine.")
            time.sleep(0.01)
        with counted(descriptor):
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
def offline(path: Path, busy: str = "The disk is in use by a machine that is on.") -> Iterator[None]:
    """Keep QEMU and other agents from a disk for the block.

    Nothing else stops a check of a file system that a guest has mounted. Raises `Refused`, with the text `busy`,
    where QEMU has it, and `Failed` where another agent does.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            _lock(descriptor, fcntl.F_WRLCK, OURS, 1)
            _lock(descriptor, fcntl.F_RDLCK, UNSHARED, PERMISSIONS)
        except BlockingIOError as error:
            raise Failed("Something else works on this disk.") from error
        if is_used(descriptor):
            raise Refused(busy)
        with counted(descriptor):
            yield
    finally:
        os.close(descriptor)


def in_use(path: Path) -> bool:
    """Whether a QEMU has the disk open."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return is_used(descriptor)
    finally:
        os.close(descriptor)


def is_used(descriptor: int) -> bool:
    """Whether somebody else's locks on an open disk say that it is in use."""
    return _is_locked(descriptor, USED, PERMISSIONS)


def _is_locked(descriptor: int, start: int, length: int) -> bool:
    found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, start, length))
    return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)


def _lock(descriptor: int, kind: int, start: int, length: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(kind, start, length))


def _flock(kind: int, start: int, length: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0)


def own(descriptor: int) -> bool:
    """Take an open file for this process and those that inherit it, as long as one of them lives. False where
    somebody else has it. Who asks with `is_owned` takes nothing, so that no question disturbs another."""
    try:
        _lock(descriptor, fcntl.F_WRLCK, OURS, 1)
    except BlockingIOError:
        return False
    return True


def is_owned(path: Path) -> bool:
    """Whether a living process has taken the file with `own`, or inherited it. False where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, OURS, 1))
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)
