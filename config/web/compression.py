"""Compression of answers with gzip, the only encoding that all supported versions of Python can write."""

import gzip

MIN_LARGE_BYTES = 256 * 1024
"""The minimum number of bytes of an answer that is compressed for each request."""


def accepts_gzip(accepted: str) -> bool:
    """Tell whether an ``Accept-Encoding`` names gzip. A weight of 0 refuses it (RFC 9110, 12.5.3)."""
    for item in accepted.lower().split(","):
        name, _, parameters = item.partition(";")
        if name.strip() in ("gzip", "x-gzip"):
            return not _is_zero(parameters.strip())
    return False


def _is_zero(weight: str) -> bool:
    return weight.startswith("q=") and not weight[2:].strip("0. ")


def compress_once(content: bytes) -> bytes:
    """Return the smallest gzip file of a document that is cached. It takes about 60 ms for each MB."""
    return gzip.compress(content, 9, mtime=0)


def compress_quickly(content: bytes) -> bytes:
    """Return a gzip file, made in about 10 ms for each MB. Other threads of Python run meanwhile."""
    return gzip.compress(content, 1, mtime=0)
