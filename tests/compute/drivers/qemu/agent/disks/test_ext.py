"""File systems in files: a change is complete, or has no effect."""

import hashlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import commands
from compute.drivers.qemu.agent.disks import ext
from compute.drivers.qemu.agent.errors import Failed, Refused
from tests.compute.drivers.qemu.disk_files import (
    MB,
    allocated,
    ext4,
    is_clean,
    leave_journal,
    needs,
    program,
    seen,
    system_folder,
)


@pytest.fixture
def disk(tmp_path) -> Path:
    needs("e2fsck", "mke2fs", "debugfs", "resize2fs", "e2undo")
    return ext4(
        tmp_path / "with a blank" / "disk.raw", 64, system_folder(tmp_path / "files"), "-E", "resize=268435456"
    )


def digest(path: Path) -> str:
    """Return the digest of all but the first block: a check writes its time into the superblock."""
    return hashlib.sha256(path.read_bytes()[4096:]).hexdigest()


def leftovers(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if each != path)


@pytest.mark.parametrize("kind", [pytest.param("ext3", marks=pytest.mark.guest), "ext4"])
def test_a_new_file_system_fills_its_file_and_can_grow_a_thousandfold(tmp_path, kind):
    needs("mkfs.ext4", "mkfs.ext3", "resize2fs")
    path = tmp_path / "new.raw"
    with path.open("wb") as file:
        file.truncate(64 * MB)
    ext.make(path, kind)
    assert ext.is_ext(path)
    assert ext.has_filled(path)
    ext.grow_new(path, 80_000 * MB)
    assert ext.has_filled(path)
    assert is_clean(path)


@pytest.mark.parametrize("size", [1, 3, 40, 2_000_000])
def test_file_systems_come_in_every_size(tmp_path, size):
    needs("mkfs.ext4")
    path = tmp_path / "new.raw"
    with path.open("wb") as file:
        file.truncate(size * MB)
    ext.make(path, "ext4")
    assert ext.has_filled(path)
    assert allocated(path) < max(size, 10) * MB


def test_a_disk_grows_and_shrinks_with_its_files(disk):
    data = seen(disk, "/srv/data")
    ext.resize(disk, 25_088 * MB)
    assert disk.stat().st_size == 25_088 * MB
    assert ext.has_filled(disk)
    assert allocated(disk) < 100 * MB, "a sparse file stays one"
    ext.resize(disk, 100 * MB)
    assert disk.stat().st_size == 100 * MB
    assert is_clean(disk)
    assert seen(disk, "/srv/data") == data
    assert leftovers(disk) == []


def test_the_journal_comes_first(disk):
    leave_journal(disk)
    ext.resize(disk, 128 * MB)
    assert b"needs_recovery" not in program("dumpe2fs", "-h", disk)
    assert is_clean(disk)


def test_a_filesystem_that_needs_repair_by_hand_is_refused(disk):
    with disk.open("r+b") as file:
        file.seek(1024 + 40)
        file.write(bytes(4))  # inodes per group
    with pytest.raises(Refused, match="by hand"):
        ext.resize(disk, 128 * MB)
    assert disk.stat().st_size == 64 * MB


def test_no_disk_becomes_smaller_than_its_files(disk):
    ext.check(disk)
    before = digest(disk)
    with pytest.raises(Refused, match=r"The files on the disk need \d+ MB"):
        ext.resize(disk, 4 * MB)
    assert digest(disk) == before
    assert leftovers(disk) == []


def test_a_file_system_that_cannot_grow_so_far_is_put_back(tmp_path):
    needs("resize2fs", "e2undo")
    path = ext4(tmp_path / "disk.raw", 64, None, "-E", "resize=17000")
    ext.check(path)
    before = digest(path)
    with pytest.raises(Refused, match="was not changed"):
        ext.resize(path, 80_000 * MB)
    assert path.stat().st_size == 64 * MB
    assert digest(path) == before
    assert leftovers(path) == []


def test_a_file_that_cannot_be_made_so_small_is_as_it_was(disk, monkeypatch):
    monkeypatch.setattr(ext, "minimum", lambda path: 3 * MB)
    ext.check(disk)
    before = digest(disk)
    ext.shrink(disk)
    assert disk.stat().st_size == 64 * MB
    assert digest(disk) == before
    assert leftovers(disk) == []
    assert is_clean(disk)


class Killed(BaseException):
    """A stand-in for a kill of the process."""


STEPS = ["e2fsck -fp", "resize2fs -P", "resize2fs -z", "e2fsck -fn"]


@pytest.mark.parametrize("size", [256, 40])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_resize_killed_at_a_step_is_settled_and_repeated(disk, monkeypatch, step, when, size):
    run = commands.run

    def killed(*command, **options):
        hit = " ".join(command).startswith(step)
        if hit and when == "before":
            raise Killed
        done = run(*command, **options)
        if hit:
            raise Killed
        return done

    monkeypatch.setattr(ext, "run", killed)
    if step == "resize2fs -P" and size > 64:
        ext.resize(disk, size * MB)
    else:
        with pytest.raises(Killed):
            ext.resize(disk, size * MB)
    monkeypatch.setattr(ext, "run", run)
    ext.settle(disk)
    assert leftovers(disk) == []
    assert is_clean(disk)
    ext.resize(disk, size * MB)
    assert disk.stat().st_size == size * MB
    assert is_clean(disk)
    assert seen(disk, "/srv/data") == bytes(range(256)) * 4096


def needs_tracing() -> None:
    needs("strace")
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        pytest.skip("one process may not trace another here")


def resize2fs_killed(disk: Path, size: int, calls: int) -> bool:
    """Run a resize as `ext.resize` does, with resize2fs killed at its n-th write. Returns whether it was
    killed."""
    ext.check(disk)
    ext._mark(disk, back=True, size=disk.stat().st_size)
    if size * MB > disk.stat().st_size:
        os.truncate(disk, size * MB)
    inject = f"inject=pwrite64:signal=KILL:when={calls}"
    done = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", inject,
         "resize2fs", "-z", str(ext.undo_file(disk)), str(disk), f"{size * 1024}K"],
        capture_output=True, check=False, env={"PATH": os.environ["PATH"] + os.pathsep + commands.PATH},
    )  # fmt: skip
    return done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


@pytest.mark.parametrize("size", [256, 40])
@pytest.mark.parametrize("calls", [1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_a_resize2fs_killed_at_any_write_is_put_back(disk, calls, size):
    needs_tracing()
    ext.check(disk)
    before = disk.read_bytes()
    if not resize2fs_killed(disk, size, calls):
        assert calls > 20, "it was over before"
    ext.settle(disk)
    assert leftovers(disk) == []
    assert disk.stat().st_size == 64 * MB
    assert is_clean(disk)
    after = disk.read_bytes()
    assert after[4096:] == before[4096:], "all but the superblock's counters and times"


def test_putting_back_may_be_killed_and_repeated(disk, monkeypatch):
    needs_tracing()
    assert resize2fs_killed(disk, 256, 13)
    run = commands.run

    def killed(*command, **options):
        run(*command, **options)
        raise Killed

    monkeypatch.setattr(ext, "run", killed)
    with pytest.raises(Killed):
        ext.settle(disk)
    monkeypatch.setattr(ext, "run", run)
    ext.settle(disk)
    assert disk.stat().st_size == 64 * MB
    assert is_clean(disk)


def test_an_undo_file_that_nothing_needs_is_never_applied(disk):
    """The guest has written since. An undo would destroy its data."""
    with ext.revocable(disk) as undo:
        program("debugfs", "-w", "-z", undo, "-R", "mkdir /made", disk)
        kept = undo.read_bytes()
    undo.write_bytes(kept)
    ext.settle(disk)
    assert "directory" in program("debugfs", "-R", "stat /made", disk).decode()
    assert leftovers(disk) == []


def test_an_undo_that_fails_is_reported_and_keeps_its_files(disk):
    ext._mark(disk, back=True, size=64 * MB)
    ext.undo_file(disk).write_bytes(b"torn" * 4096)
    with disk.open("r+b") as file:
        file.write(bytes(8 * MB))
    with pytest.raises(Failed, match="cannot be undone"):
        ext.settle(disk)
    assert ext.mark(disk).exists(), "so no machine boots from it"
