"""The tiny guest, for tests that boot it."""

import os
import subprocess
from pathlib import Path

import pytest

from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import needs
from tests.tours.pages import ROOT


def tiny_guest(command: str) -> Store:
    """Return a host with the tiny guest, which a shell command builds in STATE_DIR.

    The guest is kept between runs, and built again when its sources change. Skips the test if it cannot be
    built.
    """
    needs("e2fsck", "mke2fs", "debugfs", "resize2fs", "qemu-system-x86_64", "apt-get", "dpkg-deb", "make")
    state = Path(os.environ.get("STATE_DIR", ".state")).resolve() / "tiny-guest"
    outer = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")
    env = {name: value for name, value in os.environ.items() if name not in outer} | {"STATE_DIR": str(state)}
    typed = subprocess.run(
        ["bash", "-e", "-c", command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if typed.returncode and "packages of Debian" in typed.stderr and "CI" not in os.environ:
        pytest.skip(typed.stderr)
    assert typed.returncode == 0, typed.stderr
    return Store(state / "hypervisor")
