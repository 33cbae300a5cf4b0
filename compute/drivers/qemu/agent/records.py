"""Small JSON files, such as a machine's description and the record of its last boot."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any] | None:
    """Read a file; None if it does not exist."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def write(path: Path, record: dict[str, Any]) -> None:
    """Replace a file as a whole. A reader has the old or the new file, and so has the host after a crash.

    All writers use the same temporary file, and wait for each other. So the next writer reuses the temporary file
    of a writer that was killed.
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
    """Delete a file, if it exists, and its temporary file, which a killed writer may have left."""
    path.unlink(missing_ok=True)
    _new(path).unlink(missing_ok=True)


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


@contextmanager
def _own(new: Path) -> Iterator[int]:
    """Open and lock the temporary file. If another writer renamed it meanwhile, try again with a new file."""
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
