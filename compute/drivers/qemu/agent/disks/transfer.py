"""Transfers of disks' contents, in chunks: between hosts, and to and from the directory of archives.

A worker reads chunks on one side and writes them on the other, with short calls. A chunk is JSON. It describes the
file from `start` to `next`, with `pieces` of data in base64; the rest is a hole. The reader's `version` changes
when the file changes. The writer records its progress after fdatasync. So a repeated call, a call after a crash, or
a call of another process continues from there.

A *place* is ``["disk", machine, disk]``, ``["outgoing", archive]`` (made by `machine_disks.save_disk`) or
``["incoming", archive]`` (for `machine_disks.create_disk`).
"""

import base64
import binascii
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import locks, records
from compute.drivers.qemu.agent.disks import ext, machine_disks, sparse
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store

CHUNK = 8 << 20
"""The maximum number of bytes of data in a chunk."""


def read(store: Store, place: Sequence[str], start: int = 0, most: int = CHUNK) -> dict[str, Any]:
    """Read a chunk of a disk that is not in use, or of an archive's content. In the last chunk, `next` is `size`.

    Raises `Refused` if the disk or archive is missing, or the disk is in use.
    """
    path = path_of(store, place)
    if not path.exists():
        raise Refused("The disk does not exist." if place[0] == "disk" else "The archive does not exist.")
    if place[0] != "disk":
        return read_file(path, start, most)
    with locks.lock_disk(path):
        ext.put_back(path)
        return read_file(path, start, most)


def write(store: Store, place: Sequence[str], chunk: dict[str, Any]) -> int:
    """Write a chunk, and return the offset where the next one has to start.

    If this chunk does not start at the expected offset, it is not written, and the expected offset is returned.
    """
    path = path_of(store, place)
    if place[0] == "incoming":
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not path.parent.is_dir():
        raise Refused("The machine does not exist.")
    return write_file(path, chunk)


def arrived(store: Store, place: Sequence[str]) -> bool:
    """Tell whether there is a complete file, so that nothing has to be written."""
    return path_of(store, place).exists()


def finish(store: Store, place: Sequence[str]) -> None:
    """Rename a file that has arrived as a whole to its final name. `Failed` while chunks are missing."""
    finish_file(path_of(store, place))


def drop(store: Store, place: Sequence[str]) -> None:
    """Delete the content of an archive on this host, complete or not."""
    if place[0] == "disk":
        raise Refused("Disks are deleted with delete_disk, not as files.")
    path = path_of(store, place)
    if place[0] == "outgoing":
        machine_disks.end_save(store, place[1])
    machine_disks.delete_file(path)


def size(store: Store, place: Sequence[str]) -> int | None:
    """The size of a complete file in bytes; None if there is none."""
    path = path_of(store, place)
    return path.stat().st_size if path.exists() else None


def path_of(store: Store, place: Sequence[str]) -> Path:
    match list(place):
        case ["disk", machine, disk]:
            return store.disk(machine, disk)
        case ["outgoing", archive]:
            return store.outgoing(archive)
        case ["incoming", archive]:
            return store.incoming(archive)
    raise Refused("The path of the transfer is not valid.")


# --- files on a host or on a worker's machine ---------------------------------------------------------------------


def read_file(path: Path, start: int = 0, most: int = CHUNK) -> dict[str, Any]:
    """Read a chunk of a file that nobody changes meanwhile."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        pieces = []
        left, at = most, found.st_size
        for begin, end in sparse.extents(file.fileno(), min(start, found.st_size)):
            if not left:
                at = begin
                break
            data = os.pread(file.fileno(), min(left, end - begin), begin)
            if not sparse.is_zero(data):
                pieces.append([begin, base64.b64encode(data).decode()])
            left -= len(data)
            if begin + len(data) < end:
                at = begin + len(data)
                break
        return {
            "version": f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}",
            "size": found.st_size,
            "start": start,
            "next": at,
            "pieces": pieces,
        }


def write_file(path: Path, chunk: dict[str, Any]) -> int:
    """Write a chunk into the incomplete file for `path`. Return the offset where the next one has to start."""
    if path.exists():
        return int(chunk["size"])
    state = records.read(_coming(path))
    part = path.with_suffix(".part")
    if state is None or state["version"] != chunk["version"] or not part.exists():
        if chunk["start"] != 0:
            return 0
        state = _begin(path, part, chunk)
    if chunk["start"] != state["next"]:
        return int(state["next"])
    with _opened(part) as descriptor:
        for offset, data in chunk["pieces"]:
            content = _decoded(data)
            if not 0 <= offset <= offset + len(content) <= state["size"]:
                raise Refused("A chunk is outside the file.")
            sparse.put(descriptor, offset, content)
        os.fdatasync(descriptor)
    records.write(_coming(path), {**state, "next": chunk["next"]})
    return int(chunk["next"])


def finish_file(path: Path) -> None:
    if not path.exists():
        state = records.read(_coming(path))
        if state is None or state["next"] != state["size"]:
            raise Failed("The transfer is not complete.")
        machine_disks.complete(path.with_suffix(".part"), path)
    records.remove(_coming(path))


def _begin(path: Path, part: Path, chunk: dict[str, Any]) -> dict[str, Any]:
    records.remove(_coming(path))
    part.unlink(missing_ok=True)
    with part.open("xb") as file:
        part.chmod(0o600)
        file.truncate(chunk["size"])
    state = {"version": chunk["version"], "size": chunk["size"], "next": 0}
    records.write(_coming(path), state)
    return state


@contextlib.contextmanager
def _opened(part: Path) -> Iterator[int]:
    """Open the incomplete file for one writer at a time."""
    descriptor = os.open(part, os.O_RDWR | os.O_CLOEXEC)
    try:
        if not locks.try_lock(descriptor):
            raise Failed("Another process is writing this file.")
        yield descriptor
    finally:
        os.close(descriptor)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise Refused("A chunk is damaged.") from error


def _coming(path: Path) -> Path:
    return machine_disks.coming(path)
