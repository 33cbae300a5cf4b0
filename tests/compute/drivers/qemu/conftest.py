"""A QEMU host in a directory, with emulated machines. All machines are gone at the end of a test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.machines import machine_dirs
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.hosts import QEMU, make_machine, run_machine


@pytest.fixture
def qemu() -> str:
    if shutil.which(QEMU) is None:
        assert os.environ.get("CI") != "true", "the package qemu-system-x86 is to be installed"
        pytest.skip("QEMU is not installed")
    return QEMU


@pytest.fixture
def store(tmp_path: Path, qemu: str) -> Iterator[Store]:
    """An empty host with volumes. The path of its directory is longer than a socket's name may be."""
    root = tmp_path / ("deep-" + "x" * 60) / ("deeper-" + "x" * 60)
    found = Store(root, tmp_path / "shared")
    (tmp_path / "shared" / "volumes").mkdir(parents=True)
    settings.save(found, Settings(accel="tcg", patience=500.0))
    yield found
    for directory in (root / "machines").glob("*"):
        machine_dirs.cut(directory, timeout=120)


@pytest.fixture
def machine(store: Store) -> str:
    """A machine that is off, with a disk whose guest obeys the power button."""
    return make_machine(store)


@pytest.fixture
def running(store: Store) -> str:
    """A machine that is on, with a disk whose guest obeys the power button."""
    return run_machine(store)
