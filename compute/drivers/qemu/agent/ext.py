"""ext2, ext3 and ext4 in raw files, without mounting them.

A mounted file system could lead the host out of the file by a symbolic link, and would have the host's kernel read
what a hostile guest wrote.

What is changed on a disk that somebody needs is *revocable*: the programs keep the blocks that they overwrite in an
undo file, and a mark beside the disk says that it is not settled. Whoever takes up the disk next (another try, the
start of its machine) settles it first: puts it back where the change was not complete. An undo file that is applied
later, after a guest wrote, would destroy the file system.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from compute.drivers.qemu.agent import locks, records, sparse
from compute.drivers.qemu.agent.commands import CommandFailed, run
from compute.drivers.qemu.agent.errors import Failed, Refused

MB = 1 << 20
NOT_EXT = "The {what} is no ext file system: disks here have no partitions."
MAGIC_AT, MAGIC = 1080, b"\x53\xef"
BLOCK = 4096
GROWTH = 1 << 28
"""Blocks up to which new file systems can grow: 1 TB. resize2fs destroys some that have to grow beyond theirs."""
LEAST_FOR_GROWTH = 64 * MB
"""Bytes below which a file system has no room for that."""
REPAIRED = (0, 1)


def is_ext(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(MAGIC_AT)
        return file.read(2) == MAGIC


def make(path: Path, kind: str) -> None:
    """Make an empty file system, of the kind ext3 or ext4, in the whole file."""
    size = path.stat().st_size
    extended = ["lazy_journal_init=1"]  # a new file has no old journal in its place
    if LEAST_FOR_GROWTH <= size < GROWTH * BLOCK:
        extended.append(f"resize={GROWTH}")
    blocks = ("-b", str(BLOCK)) if size >= LEAST_FOR_GROWTH else ()
    run(f"mkfs.{kind}", "-q", "-F", "-m", "0", *blocks, "-E", ",".join(extended), str(path))


def check(path: Path, whole: bool = True, timeout: float | None = None) -> None:
    """Replay the journal and repair what needs no question; `whole` looks at all even if it seems clean.

    Everything begins with this: what is changed before the journal of a crashed guest is replayed, the replay may
    undo. Raises `Refused` where a person has to repair it.
    """
    try:
        run("e2fsck", "-fp" if whole else "-p", str(path), expected=REPAIRED, timeout=timeout)
    except CommandFailed as error:
        raise Refused("The file system of the disk is damaged, and has to be repaired by hand first.") from error


def minimum(path: Path) -> int:
    """The bytes that a checked file system needs for its files, after resize2fs's careful estimation."""
    said = run("resize2fs", "-P", str(path)).stdout
    found = re.search(r"filesystem: (\d+)", said)
    if found is None:
        raise Failed("The size of the files on the disk cannot be told.")
    return int(found[1]) * geometry(path)[1]


def geometry(path: Path) -> tuple[int, int]:
    """The number of blocks, and the bytes of one, as the superblock says."""
    with path.open("rb") as file:
        file.seek(1024)
        block = file.read(1024)
    low, log = int.from_bytes(block[4:8], "little"), int.from_bytes(block[24:28], "little")
    wide = int.from_bytes(block[96:100], "little") & 0x80
    high = int.from_bytes(block[0x150:0x154], "little") if wide else 0
    return (high << 32) + low, 1024 << min(log, 6)


def has_filled(path: Path) -> bool:
    """Whether the file system is as large as its file, but for the rest of a block."""
    blocks, size = geometry(path)
    return blocks == path.stat().st_size // size


def new_identity(path: Path) -> None:
    """Give a checked file system a UUID of its own: a copy would be mounted in the place of the original."""
    run("tune2fs", "-U", "random", str(path))


def uuid(path: Path) -> str:
    """The UUID of a file system, as it is written in /etc/fstab."""
    with path.open("rb") as file:
        file.seek(1024 + 104)
        digits = file.read(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def grow_new(path: Path, size: int) -> None:
    """Grow the checked file system of a file that nobody needs yet, with the file."""
    os.truncate(path, size)
    try:
        run("resize2fs", str(path))
        run("e2fsck", "-fn", str(path))
    except CommandFailed as error:
        raise Refused(f"The file system cannot grow to {size // MB} MB.") from error


def shrink(path: Path) -> None:
    """Shrink a file with its file system to as few MB as it can, or leave it as it is. The caller holds it."""
    check(path)
    size = -(-minimum(path) // MB) * MB
    if size < path.stat().st_size:
        with contextlib.suppress(Refused):  # the estimate was too low: it is as it was
            resize(path, size)


def resize(path: Path, size: int) -> None:
    """Resize a disk with its file system, which fills it then. The caller holds the disk, and has settled it.

    Raises `Refused` where the files need more, or resize2fs fails: then the disk is as it was.
    """
    check(path)
    present = path.stat().st_size
    if size < present and (need := minimum(path)) > size:
        raise Refused(f"The files on the disk need {-(-need // MB)} MB.")
    try:
        with revocable(path, size) as undo:
            if size > present:
                os.truncate(path, size)
            run("resize2fs", "-z", str(undo), str(path), f"{size // 1024}K")
            run("e2fsck", "-fn", str(path))
    except CommandFailed as error:
        raise Refused("The file system could not be resized, and is as it was.") from error


# --- what can be taken back ---------------------------------------------------------------------------------------


def undo_file(path: Path) -> Path:
    return path.with_suffix(".undo")


def mark(path: Path) -> Path:
    return path.with_suffix(".unsettled")


@contextlib.contextmanager
def revocable(path: Path, size: int | None = None) -> Iterator[Path]:
    """Change a disk such that it is put back if the block fails, or never ends. The undo file for the programs.

    The caller holds the disk, and has settled it. With `size` the file has so many bytes in the end: it is cut
    when the file system in it is smaller for certain.
    """
    present = path.stat().st_size
    _mark(path, back=True, size=present)
    try:
        yield undo_file(path)
    except Exception:
        put_back(path)
        raise
    _mark(path, back=False, size=present if size is None else size)
    put_back(path)


def settle(path: Path) -> None:
    """Finish or put back what a crash left half-changed on a disk, before anything else is done with it.

    Raises `Failed` where it is being changed right now, or cannot be put back.
    """
    if mark(path).exists():
        try:
            with locks.lock_disk(path):
                put_back(path)
        except Refused as error:
            raise Failed("The disk is in use, though it is not settled.") from error
    else:
        undo_file(path).unlink(missing_ok=True)


def put_back(path: Path) -> None:
    """The same, for who holds the disk already."""
    undo = undo_file(path)
    found = records.read(mark(path))
    if found is None:
        undo.unlink(missing_ok=True)
        return
    if found["back"]:
        _undo(path, found["size"])
    elif path.stat().st_size != found["size"]:
        os.truncate(path, found["size"])
    undo.unlink(missing_ok=True)
    records.remove(mark(path))
    sparse.sync_folder(path.parent)


def _undo(path: Path, size: int) -> None:
    """Put the blocks of an undo file back, complete or not.

    Nobody wrote since: the mark kept them from it. So e2undo is told to take what there is (-f), and may do so
    twice. Of a file that it does not know yet as an undo file nothing was overwritten.
    """
    failed = None
    if undo_file(path).exists():
        try:
            run("e2undo", "-f", str(undo_file(path)), str(path))
        except CommandFailed as error:
            failed = error
    if path.stat().st_size != size:
        os.truncate(path, size)
    try:
        run("e2fsck", "-fp", str(path), expected=REPAIRED)
    except CommandFailed as error:
        raise Failed("The disk was half-changed when the host failed, and cannot be put back.") from (
            failed or error
        )


def _mark(path: Path, back: bool, size: int) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    records.write(mark(path), {"back": back, "size": size})
    sparse.sync_folder(path.parent)
