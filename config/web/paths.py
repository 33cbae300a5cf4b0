"""Paths of requests: whether they belong to the API, and their normal form."""

import re

_SLASHES = re.compile(r"/{2,}")

is_api = re.compile(r"/v4(?:beta)?(?:/|$)").match
"""Whether a path is one of the API, under ``/v4`` or ``/v4beta``."""


def normalized(path: str) -> str:
    """Return the path without doubled and trailing slashes, which result when clients join paths."""
    return _SLASHES.sub("/", path).rstrip("/")
