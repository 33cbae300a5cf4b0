"""The version of this release, from pyproject.toml."""

import tomllib
from pathlib import Path

VERSION: str = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"][
    "version"
]
