"""Large sparse files: holes are not read, and zeros are not written."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

PIECE = 1 << 20
GRAIN = 4096
"""The block size in bytes: an aligned block of zeros is not written."""
_FICLONE = 0x40049409
_ZEROS = bytes(PIECE)


def extents(descriptor: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """The begin and end of each range with data in an open file, from `start` on."""
    while True:
        try:
            begin = os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        start = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, start


def data_size(descriptor: int) -> int:
    """The bytes of an open file that are not in holes."""
    return sum(end - begin for begin, end in extents(descriptor))


def ends(path: Path) -> int:
    """The end of the last data in a file. After it, the file has only a hole."""
    with path.open("rb") as file:
        return max((end for _, end in extents(file.fileno())), default=0)


def is_zero(data: bytes | memoryview) -> bool:
    return data == memoryview(_ZEROS)[: len(data)] if len(data) <= PIECE else not any(data)


def put(descriptor: int, offset: int, data: bytes) -> None:
    """Write data at an offset, except zeros. The range has to be a hole, or contain the same bytes already."""
    view = memoryview(data)
    begin = 0
    while begin < len(view):
        end = min(begin + GRAIN - (offset + begin) % GRAIN, len(view))
        if is_zero(view[begin:end]):
            begin = end
            continue
        while end < len(view) and not is_zero(view[end : end + GRAIN]):
            end = min(end + GRAIN, len(view))
        written = begin
        while written < end:
            written += os.pwrite(descriptor, view[written:end], offset + written)
        begin = end


def copy(source: Path, target: Path, report: Callable[[int, int], None] | None = None) -> None:
    """Copy a file to a new file, which shares the blocks if the host's file system supports this.

    `report` is called with the copied bytes and the total bytes.
    """
    with source.open("rb") as reader, target.open("xb") as writer:
        target.chmod(0o600)
        if _cloned(reader.fileno(), writer.fileno()):
            return
        writer.truncate(os.fstat(reader.fileno()).st_size)
        total, done = data_size(reader.fileno()), 0
        for begin, end in extents(reader.fileno()):
            for offset in range(begin, end, PIECE):
                data = os.pread(reader.fileno(), min(PIECE, end - offset), offset)
                put(writer.fileno(), offset, data)
                done += len(data)
                if report is not None:
                    report(done, total)
        os.fsync(writer.fileno())


def _cloned(reader: int, writer: int) -> bool:
    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS):
            return False
        raise
    return True


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that renames and deletions in it survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
