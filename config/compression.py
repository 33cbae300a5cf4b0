"""Compression of answers with gzip, the one encoding that all supported versions of Python can write."""

import gzip

LARGE = 256 * 1024
"""Bytes from which an answer is compressed anew for each request."""


def accepts_gzip(accepted: str) -> bool:
    """Whether an ``Accept-Encoding`` names gzip. A weight of 0 refuses it (RFC 9110, 12.5.3)."""
    for item in accepted.lower().split(","):
        name, _, parameters = item.partition(";")
        if name.strip() in ("gzip", "x-gzip"):
            return not _is_zero(parameters.strip())
    return False


def _is_zero(weight: str) -> bool:
    return weight.startswith("q=") and not weight[2:].strip("0. ")


def compress_once(content: bytes) -> bytes:
    """The smallest gzip file of a document that is kept. It takes about 60 ms for each MB."""
    return gzip.compress(content, 9, mtime=0)


def compress_quickly(content: bytes) -> bytes:
    """A gzip file made in about 10 ms for each MB, during which other threads of Python run."""
    return gzip.compress(content, 1, mtime=0)
