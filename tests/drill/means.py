"""What a machine may not have: a disk of the drill's own, which takes root, and faketime."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 2 * 1024**3
"""Bytes of the disk: a database's log alone may come to one GB."""
LEFT = 256 * 1024
"""Bytes left free on a disk that is full: less than a segment of the database's log."""
PLACES = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime", "/usr/lib64/faketime")
LIBRARY = "libfaketimeMT.so.1"


class Skipped(Exception):
    """A part of the drill cannot be had here; the text says why."""


class Disk:
    """A file system in memory at `folder`, which can be full."""

    def __init__(self, folder: Path):
        self.folder = folder

    @contextmanager
    def full(self) -> Iterator[None]:
        """No room is left on the disk for the length of the block: it is as small as what is on it."""
        self._remount(shutil.disk_usage(self.folder).used + LEFT)
        try:
            yield
        finally:
            self._remount(SIZE)

    def _remount(self, size: int) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self.folder))


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """A disk at `folder`, until the end of the block. Raises `Skipped`."""
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
        # something of the database may still be on its way out
        _run("umount", "--lazy", str(folder))


class Clock:
    """The time of processes that are started with `env`: that of the machine, and what `set` adds."""

    def __init__(self, file: Path):
        self.file = file
        self.env = {
            "LD_PRELOAD": str(faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": "1",
            # a clock that is set does not change how long a second is
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set("+0")

    def set(self, offset: str) -> None:
        """Let the clock jump to so far from the machine's: ``+3h``, ``-20m``."""
        partial = self.file.with_suffix(".partial")
        partial.write_text(f"{offset}\n")
        partial.rename(self.file)


def faketime() -> Path:
    """The library by which single processes have another time. Raises `Skipped`."""
    for place in PLACES:
        for found in sorted(Path("/").glob(f"{place.lstrip('/')}/{LIBRARY}")):
            return found
    raise Skipped("jumps of clocks need libfaketime, which is not installed")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
