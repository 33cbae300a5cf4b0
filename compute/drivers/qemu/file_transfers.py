"""Transfers of disks' contents between two hosts, and to and from the directory of archives.

Workers copy the chunks, so that hosts need not reach each other. A call copies for some seconds and returns the
progress. The target records how far it came, so that the next call, of any worker, continues from there.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compute.drivers.base import DONE, Progress
from compute.drivers.qemu.agent.disks import transfer
from compute.drivers.qemu.transport import Transport

Place = list[str]
MB = 1 << 20


class HostFile:
    """A file on a host, by its place (see `agent.disks.transfer`)."""

    def __init__(self, transport: Transport, place: Place):
        self.transport = transport
        self.place = place

    def is_complete(self) -> bool:
        return bool(self.transport.call("arrived", place=self.place))

    def read(self, start: int, most: int = transfer.CHUNK) -> dict[str, Any]:
        found: dict[str, Any] = self.transport.call("read", place=self.place, start=start, most=most)
        return found

    def write(self, chunk: dict[str, Any]) -> int:
        return int(self.transport.call("write", place=self.place, chunk=chunk))

    def finish(self) -> None:
        self.transport.call("finish", place=self.place)

    def drop(self) -> None:
        self.transport.call("drop", place=self.place)


def make_archives(directory: Path) -> None:
    """Make the directory of archives and its parent, the state folder. Only their owner can access them."""
    for each in (directory.parent, directory):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)


class ArchiveFile:
    """A file in the directory of archives."""

    def __init__(self, path: Path):
        self.path = path

    def is_complete(self) -> bool:
        return self.path.exists()

    def read(self, start: int, most: int = transfer.CHUNK) -> dict[str, Any]:
        return transfer.read_file(self.path, start, most)

    def write(self, chunk: dict[str, Any]) -> int:
        make_archives(self.path.parent)
        return transfer.write_file(self.path, chunk)

    def finish(self) -> None:
        transfer.finish_file(self.path)


def copy_file(
    source: HostFile | ArchiveFile,
    target: HostFile | ArchiveFile,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Progress:
    """Copy a file for about so many `seconds`, at least one chunk. Done when the target is complete."""
    if target.is_complete():
        target.finish()  # an earlier call may have been killed before it finished the target
        return DONE
    began, first = clock(), None
    # a chunk without data: the target answers where to continue
    chunk = source.read(0, 0)
    while True:
        reached = target.write(chunk)
        if reached >= chunk["size"]:
            target.finish()
            return DONE
        spent = clock() - began
        if first is None:
            first = reached
        elif spent > seconds:
            rate = max(reached - first, 1) / max(spent, 0.001)
            return Progress(reached * 100 // chunk["size"], 0.0, rate / MB, (chunk["size"] - reached) / rate)
        chunk = source.read(reached)
