"""A host of QEMU's in a directory, whose machines are emulated. All of them are gone at the end of a test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import machine_dirs, settings
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
    """An empty host with volumes. Its directory is deeper than the name of a socket may be long."""
    root = tmp_path / ("deep-" + "x" * 60) / ("deeper-" + "x" * 60)
    found = Store(root, tmp_path / "shared")
    (tmp_path / "shared" / "volumes").mkdir(parents=True)
    settings.save(found, Settings(accel="tcg", patience=500.0))
    yield found
    for directory in (root / "machines").glob("*"):
        machine_dirs.cut(directory, timeout=120)


@pytest.fixture
def machine(store: Store) -> str:
    """A machine with a disk whose guest obeys the power button, off."""
    return make_machine(store)


@pytest.fixture
def running(store: Store) -> str:
    """The same, on."""
    return run_machine(store)
