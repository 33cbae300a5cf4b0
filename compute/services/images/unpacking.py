"""Unpacking an uploaded gzip file, only to check that it is complete and to measure it, in bounded memory and
time."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from config.errors import Invalid

CHUNK = 256 * 1024
MAX_MEMBERS = 10_000
"""Members of one gzip file: each costs a new decompressor, and compressors that work in parallel make few."""
GIGABYTE = 1024**3

BROKEN = "The file is not gzip, or is broken."
ENDED_EARLY = "The upload ended early."
TOO_LONG = "The file takes too long to unpack."


def measure(path: Path, most: int, seconds: float) -> int:
    """Return the MB that a gzip file unpacks to, rounded up: at most `most` bytes, within `seconds`.

    Raises `Invalid` as soon as the file is found broken or cut off, unpacks to more, or takes longer.
    """
    check, until = _GzipCheck(most), monotonic() + seconds
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            for _ in check.feed(chunk):
                if monotonic() > until:
                    raise Invalid(TOO_LONG)
    check.end()
    return -(-check.size // 1024**2)


def too_large(what: str, most: int) -> str:
    """Return the reason to refuse an image of more than `most` bytes. `what` says which size is limited."""
    return f"The image must be at most {most / GIGABYTE:g} GB {what}."


class _GzipCheck:
    """Decompresses a gzip file piece by piece.

    Like gzip itself, it accepts several members, one after the other, and zeros after the last one.
    """

    def __init__(self, most: int):
        self.most = most
        self.size = 0
        self.members = 0
        self.member = zlib.decompressobj(wbits=31)
        self.between = False

    def feed(self, data: bytes) -> Iterator[None]:
        """Unpack the next bytes of the file. Yields after each piece; the size of a piece is bounded."""
        while data:
            if self.between:
                data = data.lstrip(b"\0")
                if not data:
                    return
                self.member, self.between = zlib.decompressobj(wbits=31), False
            self._decompress(data)
            yield
            if self.member.eof:
                data, self.between = self.member.unused_data, True
                self.members += 1
                if self.members > MAX_MEMBERS:
                    raise Invalid(f"The file has more than {MAX_MEMBERS} gzip members.")
            else:
                data = self.member.unconsumed_tail

    def end(self) -> None:
        """Check that the file is complete. Its unpacked content may be empty."""
        while not self.between and self._decompress(b""):
            pass
        if not self.between and not self.member.eof:
            raise Invalid(ENDED_EARLY)

    def _decompress(self, data: bytes) -> int:
        try:
            made = len(self.member.decompress(data, CHUNK))
        except zlib.error:
            raise Invalid(BROKEN) from None
        self.size += made
        if self.size > self.most:
            raise Invalid(too_large("uncompressed", self.most))
        return made
