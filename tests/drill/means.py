"""Means that a machine may lack: a disk of the drill's own, which needs root, and faketime."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 2 * 1024**3
"""Bytes of the disk. The log of a database alone may need one GB."""
LEFT = 256 * 1024
"""Bytes left free on a full disk: less than a segment of the database's log."""
PLACES = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime", "/usr/lib64/faketime")
LIBRARY = "libfaketimeMT.so.1"


class Skipped(Exception):
    """A part of the drill cannot run here. The text says why."""


class Disk:
    """A file system in memory at `folder`, which can be full."""

    def __init__(self, folder: Path):
        self.folder = folder

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no room on the disk during the block: the disk is as small as its content."""
        self._remount(shutil.disk_usage(self.folder).used + LEFT)
        try:
            yield
        finally:
            self._remount(SIZE)

    def _remount(self, size: int) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self.folder))


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """Mount a disk at `folder` during the block. Raises `Skipped`."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Skipped("a disk of its own that fills up needs root, on Linux")
    folder.mkdir(parents=True)
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "skerry-drill", str(folder))
    except subprocess.CalledProcessError as error:
        raise Skipped(f"a disk of its own cannot be mounted: {error.stderr.strip()}") from error
    try:
        yield Disk(folder)
    finally:
        # a process of the database may still be ending
        _run("umount", "--lazy", str(folder))


class Clock:
    """The clock of processes that are started with `env`: the time of the machine plus the offset of `set`."""

    def __init__(self, file: Path):
        self.file = file
        self.env = {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": "1",
            # setting the clock does not change the length of a second
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set("+0")

    def set(self, offset: str) -> None:
        """Set the offset from the machine's time: ``+3h``, ``-20m``."""
        partial = self.file.with_suffix(".partial")
        partial.write_text(f"{offset}\n")
        partial.rename(self.file)


def faketime() -> Path:
    """Return the path of the library that changes the time of single processes. Raises `Skipped`."""
    for place in PLACES:
        for found in sorted(Path("/").glob(f"{place.lstrip('/')}/{LIBRARY}")):
            return found
    raise Skipped("jumps of clocks need libfaketime, which is not installed")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
