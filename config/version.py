"""The version of this release."""

import tomllib
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
"""The project's file, which only the source tree has. An installed package has metadata instead."""


def _version() -> str:
    if not PROJECT.exists():
        return metadata.version("skerry")
    found: str = tomllib.loads(PROJECT.read_text())["project"]["version"]
    return found


VERSION = _version()
