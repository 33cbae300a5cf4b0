"""The agent of hosts as one file, which the Python of a host runs.

The file contains the package `agent`, its parent packages, which are empty, and modules shared with the platform.
"""

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PARENT_PACKAGES = ("compute", "compute/drivers", "compute/drivers/qemu")
SHARED_MODULES = ("compute/drivers/boot.py",)
MAIN_PROGRAM = b"""import sys

if __name__ == "__main__":
    from compute.drivers.qemu.agent.serving import agent_program

    sys.exit(agent_program.main(sys.argv[1:]))
"""
ENTRY_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that the same sources make the same file."""


class Bundle(NamedTuple):
    """The file, and the digest that the agent in it reports."""

    content: bytes
    digest: str


@cache
def bundle() -> Bundle:
    """The agent of this release."""
    sources = _sources()
    digest = hashlib.sha256()
    for name, source in sorted(sources.items()):
        digest.update(f"{name} {len(source)}\n".encode() + source)
    named = digest.hexdigest()[:32]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, source in sorted({**sources, "digest": named.encode()}.items()):
            packed.writestr(zipfile.ZipInfo(name, ENTRY_TIME), source, zipfile.ZIP_DEFLATED)
    return Bundle(file.getvalue(), named)


def _sources() -> dict[str, bytes]:
    found = {f"{package}/__init__.py": b"" for package in PARENT_PACKAGES}
    found["__main__.py"] = MAIN_PROGRAM
    for name in SHARED_MODULES:
        found[name] = (HERE.parents[2] / name).read_bytes()
    for path in sorted((HERE / "agent").rglob("*.py")):
        found[f"compute/drivers/qemu/{path.relative_to(HERE)}"] = path.read_bytes()
    return found
