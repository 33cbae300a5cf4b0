"""Small JSON files beside a machine: what it is, how it booted, why it ended."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any] | None:
    """None where there is no such file."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def write(path: Path, record: dict[str, Any]) -> None:
    """Replace a file as a whole: who reads it meanwhile has the old or the new, and so has a host after a crash.

    What it is written into has one name for all writers, who wait for each other: whoever is killed here leaves
    nothing that the next one does not take.
    """
    new = _new(path)
    with _own(new) as descriptor:
        os.ftruncate(descriptor, 0)
        content = memoryview(json.dumps(record).encode())
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
        new.replace(path)


def remove(path: Path) -> None:
    """Delete a file, if it is there, with what somebody who was killed was about to replace it by."""
    path.unlink(missing_ok=True)
    _new(path).unlink(missing_ok=True)


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


@contextmanager
def _own(new: Path) -> Iterator[int]:
    """The file of this name, opened by nobody else who writes: not one that has just got its final name."""
    while True:
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is(descriptor, new):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
