"""Disks as files, and the programs of a host that tests of disks need."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import commands
from compute.drivers.qemu.agent.store import Store

MB = 1 << 20
MACHINE = "skerry-7"
DISK = "skerry-7-disk-1"
OTHER = "skerry-7-disk-2"
HASH = "$6$saltsalt$" + "x" * 86
SHADOW = b"root:*:19700:0:99999:7:::\ndaemon:*:19700:0:99999:7:::\n"


def path_of_programs() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), commands.PATH))


def needs(*programs: str) -> None:
    """Skip the test if one of the programs is not installed. In CI all are required."""
    lacking = [each for each in programs if shutil.which(each, path=path_of_programs()) is None]
    if lacking:
        assert os.environ.get("CI") != "true", f"not installed: {lacking}"
        pytest.skip(f"not installed: {', '.join(lacking)}")


def program(*command: str | Path, given: bytes = b"") -> bytes:
    """Run a program as a guest or a person would. Returns its output."""
    return subprocess.run(
        [str(each) for each in command],
        input=given,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": path_of_programs(), "DEBUGFS_PAGER": "__none__"},
    ).stdout


def system_folder(folder: Path) -> Path:
    """Write the files of a small system, as of systemd and ifupdown."""
    for name, content in {
        "etc/shadow": SHADOW,
        "etc/hostname": b"image\n",
        "etc/hosts": b"127.0.0.1 localhost\n127.0.1.1 image\n",
        "etc/network/interfaces": b"auto lo\n",
        "sbin/ifup": b"",
        "usr/lib/systemd/systemd": b"",
        "etc/systemd/system/multi-user.target.wants/.keep": b"",
        "srv/data": bytes(range(256)) * 4096,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "etc/shadow").chmod(0o640)
    return folder


def ext4(path: Path, size: int, source: Path | None = None, *options: str) -> Path:
    """Create a file of `size` MB with an ext4 file system, which has the files of a directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size * MB)
    content = () if source is None else ("-d", str(source))
    program("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-E", "root_owner=0:0", *options, *content, path)
    return path


def seen(path: Path, name: str) -> bytes:
    """Return a file on a disk, as debugfs shows it."""
    return program("debugfs", "-R", f"cat {name}", path)


def stat_of(path: Path, name: str) -> str:
    return program("debugfs", "-R", f"stat {name}", path).decode(errors="replace")


def is_clean(path: Path) -> bool:
    """Tell whether a full check of the file system finds nothing."""
    done = subprocess.run(
        ["e2fsck", "-fn", str(path)], capture_output=True, check=False, env={"PATH": path_of_programs()}
    )
    return done.returncode == 0


def allocated(path: Path) -> int:
    return path.stat().st_blocks * 512


def leave_journal(path: Path) -> None:
    """Mark the file system as one whose journal must be replayed after a crash."""
    program("debugfs", "-w", "-R", "feature needs_recovery", path)


def make_store(root: Path) -> Store:
    """Create a host with one machine, which has no disks."""
    store = Store(root / "host", root / "shared")
    (store.machine(MACHINE) / "disks").mkdir(parents=True)
    (root / "shared").mkdir(exist_ok=True)
    return store
