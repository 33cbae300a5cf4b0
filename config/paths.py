"""Paths of requests: which are the API's, and how they are spelled."""

import re

_SLASHES = re.compile(r"/{2,}")

is_api = re.compile(r"/v4(?:beta)?(?:/|$)").match
"""Whether a path is one of the API, under ``/v4`` or ``/v4beta``."""


def tidied(path: str) -> str:
    """The path without doubled and trailing slashes, which clients leave when they join paths."""
    return _SLASHES.sub("/", path).rstrip("/")
