"""ext2, ext3 and ext4 in raw files, without mounting them.

If a file system were mounted, a symbolic link could lead the host out of the file. The host's kernel would also
read data that a hostile guest wrote.

Changes of a customer's disk are *revocable*. Programs save the blocks that they overwrite in an undo file. A mark
beside the disk says that the disk is not settled. The next user of the disk (a retry, or the start of the machine)
settles the disk first, and undoes an incomplete change. If an undo file were applied later, after a guest wrote,
the file system would be destroyed.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from compute.drivers.qemu.agent import locks, records
from compute.drivers.qemu.agent.commands import CommandFailed, run
from compute.drivers.qemu.agent.disks import sparse
from compute.drivers.qemu.agent.errors import Failed, Refused

MB = 1 << 20
NOT_EXT = "The {what} is not an ext file system without partitions."
MAGIC_AT, MAGIC = 1080, b"\x53\xef"
BLOCK = 4096
GROWTH = 1 << 28
"""The number of blocks up to which new file systems can grow: 1 TB. resize2fs destroys some file systems that grow
beyond their limit."""
LEAST_FOR_GROWTH = 64 * MB
"""The minimum size, in bytes, of a file system with room for the tables that this growth needs."""
REPAIRED = (0, 1)


def is_ext(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(MAGIC_AT)
        return file.read(2) == MAGIC


def make(path: Path, kind: str) -> None:
    """Make an empty file system, ext3 or ext4, in the whole file."""
    size = path.stat().st_size
    extended = ["lazy_journal_init=1"]  # a new file has no old journal in its place
    if LEAST_FOR_GROWTH <= size < GROWTH * BLOCK:
        extended.append(f"resize={GROWTH}")
    blocks = ("-b", str(BLOCK)) if size >= LEAST_FOR_GROWTH else ()
    run(f"mkfs.{kind}", "-q", "-F", "-m", "0", *blocks, "-E", ",".join(extended), str(path))


def check(path: Path, whole: bool = True, timeout: float | None = None) -> None:
    """Replay the journal, and repair the file system automatically. With `whole`, check it even if it seems clean.

    Call this before every change: the replay of a crashed guest's journal may undo an earlier change. Raises
    `Refused` if a person has to repair the file system.
    """
    try:
        run("e2fsck", "-fp" if whole else "-p", str(path), expected=REPAIRED, timeout=timeout)
    except CommandFailed as error:
        raise Refused("The file system of the disk is damaged. Repair it by hand first.") from error


def minimum(path: Path) -> int:
    """The bytes that a checked file system needs for its files, by the conservative estimate of resize2fs."""
    output = run("resize2fs", "-P", str(path)).stdout
    found = re.search(r"filesystem: (\d+)", output)
    if found is None:
        raise Failed("The size of the files on the disk cannot be determined.")
    return int(found[1]) * geometry(path)[1]


def geometry(path: Path) -> tuple[int, int]:
    """The number of blocks and the block size in bytes, from the superblock."""
    with path.open("rb") as file:
        file.seek(1024)
        block = file.read(1024)
    low, log = int.from_bytes(block[4:8], "little"), int.from_bytes(block[24:28], "little")
    wide = int.from_bytes(block[96:100], "little") & 0x80
    high = int.from_bytes(block[0x150:0x154], "little") if wide else 0
    return (high << 32) + low, 1024 << min(log, 6)


def has_filled(path: Path) -> bool:
    """Tell whether the file system fills its file, except for an incomplete last block."""
    blocks, size = geometry(path)
    return blocks == path.stat().st_size // size


def new_identity(path: Path) -> None:
    """Give a checked file system a new UUID. Otherwise a copy could be mounted in place of the original."""
    run("tune2fs", "-U", "random", str(path))


def uuid(path: Path) -> str:
    """The UUID of a file system, as written in /etc/fstab."""
    with path.open("rb") as file:
        file.seek(1024 + 104)
        digits = file.read(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def grow_new(path: Path, size: int) -> None:
    """Grow a new file with its checked file system. The change is not revocable: nobody uses the file yet."""
    os.truncate(path, size)
    try:
        run("resize2fs", str(path))
        run("e2fsck", "-fn", str(path))
    except CommandFailed as error:
        raise Refused(f"The file system cannot grow to {size // MB} MB.") from error


def shrink(path: Path) -> None:
    """Shrink a file with its file system as far as possible, in whole MB. The caller has locked the file."""
    check(path)
    size = -(-minimum(path) // MB) * MB
    if size < path.stat().st_size:
        with contextlib.suppress(Refused):  # the estimate was too low, and the file is unchanged
            resize(path, size)


def resize(path: Path, size: int) -> None:
    """Resize a disk with its file system, which then fills the disk. The caller has locked and settled the disk.

    Raises `Refused` if the files need more space or resize2fs fails. The disk is unchanged then.
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
        raise Refused("The file system could not be resized. It was not changed.") from error


# --- revocable changes --------------------------------------------------------------------------------------------


def undo_file(path: Path) -> Path:
    return path.with_suffix(".undo")


def mark(path: Path) -> Path:
    return path.with_suffix(".unsettled")


@contextlib.contextmanager
def revocable(path: Path, size: int | None = None) -> Iterator[Path]:
    """Change a disk such that the change is undone if the block fails or is killed. Yields the undo file's path.

    The caller has locked and settled the disk. With `size`, the file has so many bytes after the block: it is cut
    only after the smaller file system is complete.
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
    """Finish or undo a change that a crash interrupted, before any other use of the disk.

    Raises `Failed` if the disk is being changed right now, or the change cannot be undone.
    """
    if mark(path).exists():
        try:
            with locks.lock_disk(path):
                put_back(path)
        except Refused as error:
            raise Failed("The disk is in use before an interrupted change was finished or undone.") from error
    else:
        undo_file(path).unlink(missing_ok=True)


def put_back(path: Path) -> None:
    """Settle a disk that the caller has locked."""
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
    """Write the blocks of an undo file, complete or not, back to the disk.

    Because of the mark nobody has written to the disk since. So e2undo may apply an incomplete undo file (-f), even
    twice. If the file is not a valid undo file yet, no block was overwritten.
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
        raise Failed("The host failed during a change of the disk, and the change cannot be undone.") from (
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
