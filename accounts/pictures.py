"""Pictures that customers send: checks of their headers, and drawing them small.

A web process only reads headers (`trouble_in`), in a few milliseconds whatever the bytes. Drawing decodes the
picture, which can take long and much memory: `python accounts/pictures.py` draws one picture in a process of its
own, with limits of the kernel. It reads the picture from its standard input and writes a PNG to its standard
output. It exits with `BROKEN_EXIT` if the input is no picture. So this module imports neither Django nor the
project.
"""

import io
import re
import resource
import struct
import sys
import zlib
from collections.abc import Iterator

from PIL import Image, ImageOps

THUMBNAIL = 128
"""The maximum width and height of a drawn picture, in pixels."""
MAX_SIDE = 4096
"""The maximum width and height of an accepted picture, in pixels. A small file can unpack to a large picture."""
MAX_SCANS = 100
"""The maximum number of scans of a progressive JPEG. Encoders write some ten. Each is a pass over all pixels."""
MAX_PARTS = 4096
"""The maximum number of chunks of a PNG and segments of a JPEG."""
CPU_SECONDS = 5
"""Seconds of processor time for drawing. The largest picture of a camera takes one."""
MAX_MEMORY_BYTES = 1 << 30
"""Bytes of address space for drawing. The largest picture takes a quarter of it."""
BROKEN_EXIT = 3

NO_PICTURE = "The thumbnail is no PNG or JPEG picture, or is broken."
TOO_LARGE = f"The picture's sides must be at most {MAX_SIDE} pixels."
TOO_MANY_SCANS = f"The picture must have at most {MAX_SCANS} scans."

BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError,
    struct.error, zlib.error, Image.DecompressionBombError,
)  # fmt: skip
"""The exceptions that Pillow raises for malformed files. It passes on the exceptions of its parsers."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")
"""A marker of a JPEG. It skips markers without a segment, which may be in a scan's data. Each byte is read once."""
_FRAMES = (0xC0, 0xC1, 0xC2)
"""Markers of the frames that are decoded: baseline, extended and progressive."""
_SCAN, _END = 0xDA, 0xD9


class Broken(Exception):
    """The file is no PNG or JPEG picture, or a part of it is missing."""


def trouble_in(picture: bytes) -> str | None:
    """Return the reason to refuse a picture by its headers, or None.

    Checks format, sides and scans, and decodes nothing.
    """
    try:
        if picture.startswith(_PNG):
            sides, scans = _read_png(picture), 1
        elif picture.startswith(_JPEG):
            sides, scans = _read_jpeg(picture)
        else:
            return NO_PICTURE
    except (Broken, struct.error):
        return NO_PICTURE
    if min(sides) < 1:
        return NO_PICTURE
    if max(sides) > MAX_SIDE:
        return TOO_LARGE
    return TOO_MANY_SCANS if scans > MAX_SCANS else None


def _read_png(picture: bytes) -> tuple[int, int]:
    """Return width and height. Raises `Broken` if a chunk is cut off, or the first or the last one is missing."""
    at, kinds = len(_PNG), set()
    for number in range(MAX_PARTS):
        length, kind = struct.unpack_from(">I4s", picture, at)
        if (kind == b"IHDR") != (number == 0) or at + 12 + length > len(picture):
            raise Broken
        kinds.add(kind)
        if kind == b"IEND":
            break
        at += 12 + length
    if not {b"IHDR", b"IDAT", b"IEND"} <= kinds:
        raise Broken
    width, height = struct.unpack_from(">II", picture, len(_PNG) + 8)
    return width, height


def _read_jpeg(picture: bytes) -> tuple[tuple[int, int], int]:
    """Return width and height, and the number of scans.

    Raises `Broken` if a segment is cut off, or unless there is exactly one frame with a scan after it.
    """
    sides, scans = None, 0
    for kind, at in _segments(picture):
        if kind == _SCAN:
            scans += 1
            if scans > MAX_SCANS:
                break
        elif kind in _FRAMES:
            if sides is not None:
                raise Broken
            height, width = struct.unpack_from(">HH", picture, at + 3)
            sides = width, height
    if sides is None or not scans:
        raise Broken
    return sides, scans


def _segments(picture: bytes) -> Iterator[tuple[int, int]]:
    """Yield each marker of a JPEG with the position of its segment, up to the end of the image.

    The markers are those that a decoder finds: it skips the bytes between segments.
    """
    at = len(_JPEG)
    for _ in range(MAX_PARTS):
        found = _MARKER.search(picture, at)
        if found is None:
            raise Broken
        kind, at = found[1][0], found.end()
        if kind == _END:
            return
        (length,) = struct.unpack_from(">H", picture, at)
        if length < 2 or at + length > len(picture):
            raise Broken
        yield kind, at
        at += length
    raise Broken


def drawn(picture: bytes) -> bytes:
    """Return the picture as a small PNG. It is encoded again, so that no other data of the file is kept.

    Raises `Broken`.
    """
    try:
        with Image.open(io.BytesIO(picture), formats=("PNG", "JPEG")) as opened:
            if max(opened.size) > MAX_SIDE:
                raise Broken
            small = _upright(opened).convert("RGBA")
    except BROKEN as error:
        raise Broken from error
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


def _upright(picture: Image.Image) -> Image.Image:
    """Return the picture turned to its EXIF orientation, which is then dropped.

    16-bit grey is scaled to the 8 bits that are shown: Pillow would show every value above 255 as white.
    """
    turned = ImageOps.exif_transpose(picture)
    return turned.point(lambda value: value * (1 / 257)).convert("L") if turned.mode.startswith("I") else turned


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        small = drawn(sys.stdin.buffer.read())
    except (Broken, MemoryError):
        return BROKEN_EXIT
    sys.stdout.buffer.write(small)
    return 0


if __name__ == "__main__":
    sys.exit(main())
