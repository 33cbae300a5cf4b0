"""The agent does not touch disks that a real QEMU uses, and QEMU does not touch the agent's disks."""

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import locks
from compute.drivers.qemu.agent.disks import ext, machine_disks, transfer, volumes
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import DISK, HASH, MACHINE, MB, ext4, make_store, needs
from tests.waiting import wait_for

pytestmark = pytest.mark.guest
QEMU = "qemu-system-x86_64"


def command(path: Path, qmp: Path) -> list[str]:
    drive = {"driver": "raw", "node-name": "sda", "file": {"driver": "file", "filename": str(path)}}
    return [
        QEMU, "-nodefaults", "-no-user-config", "-accel", "tcg", "-machine", "q35", "-m", "64", "-S",
        "-display", "none",
        "-qmp", f"unix:{qmp},server=on,wait=off", "-device", "virtio-scsi-pci,id=scsi",
        "-blockdev", json.dumps(drive), "-device", "scsi-hd,bus=scsi.0,drive=sda",
    ]  # fmt: skip


@contextmanager
def qemu(path: Path) -> Iterator[None]:
    """Run a QEMU that uses the disk, as for a machine that is on."""
    needs(QEMU)
    with tempfile.TemporaryDirectory() as short:
        qmp = Path(short) / "qmp"
        process = subprocess.Popen(command(path, qmp), stderr=subprocess.PIPE)
        try:
            wait_for(lambda: answers(qmp) or process.poll() is not None)
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield
        finally:
            process.kill()
            process.communicate()


def answers(qmp: Path) -> bool:
    """Tell whether QEMU answers commands. It greets before it has opened its disks."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(qmp))
            connection.sendall(b'{"execute": "qmp_capabilities"}{"execute": "query-status"}')
            with connection.makefile() as lines:
                return any("prelaunch" in line for line in lines)
    except OSError:
        return False


@pytest.fixture
def store(tmp_path) -> Store:
    needs("e2fsck", "mke2fs", "debugfs", "resize2fs")
    store = make_store(tmp_path)
    ext4(store.disk(MACHINE, DISK), 64)
    return store


def test_nothing_is_done_to_a_disk_in_use(store):
    path = store.disk(MACHINE, DISK)
    with qemu(path):
        before = path.stat().st_mtime_ns
        assert locks.is_in_use(path)
        for call in (
            lambda: machine_disks.resize_disk(store, MACHINE, DISK, 128),
            lambda: machine_disks.set_password(store, MACHINE, DISK, HASH),
            lambda: transfer.read(store, ["disk", MACHINE, DISK]),
        ):
            with pytest.raises(Refused, match="in use"):
                call()
        with pytest.raises(Failed, match="in use") as caught:
            machine_disks.delete_disk(store, MACHINE, DISK)
        assert not isinstance(caught.value, Refused)
        assert path.stat().st_mtime_ns == before
    assert not locks.is_in_use(path)
    while not machine_disks.resize_disk(store, MACHINE, DISK, 128).done:
        pass
    assert path.stat().st_size == 128 * MB


def test_a_disk_in_use_is_not_settled(store):
    path = store.disk(MACHINE, DISK)
    ext._mark(path, back=True, size=64 * MB)
    with qemu(path), pytest.raises(Failed) as caught:
        ext.settle(path)
    assert not isinstance(caught.value, Refused)
    ext.settle(path)


def test_a_volume_in_use_is_left_to_its_qemu(store):
    while not volumes.create_volume(store, "skerry-volume-7", 1).done:
        pass
    with qemu(store.volume("skerry-volume-7")):
        assert not volumes.grow_volume(store, "skerry-volume-7", 2)
        with pytest.raises(Failed):
            volumes.delete_volume(store, "skerry-volume-7")
    volumes.delete_volume(store, "skerry-volume-7")


def test_qemu_does_not_take_a_disk_that_an_agent_works_on(store, tmp_path):
    needs(QEMU)
    path = store.disk(MACHINE, DISK)
    with locks.lock_disk(path):
        with pytest.raises(Failed, match="operation on this disk") as caught, locks.lock_disk(path):
            pass
        assert not isinstance(caught.value, Refused)
        done = subprocess.run(command(path, tmp_path / "qmp"), capture_output=True, check=False, timeout=300)
        assert done.returncode
        assert b"lock" in done.stderr
    with qemu(path):
        pass


def test_a_program_that_outlives_its_agent_keeps_the_disk(store):
    path = store.disk(MACHINE, DISK)
    with locks.lock_disk(path):
        inherited = locks.inherited_descriptors()
        program = subprocess.Popen(["sleep", "600"], pass_fds=inherited)
    try:
        with pytest.raises(Failed), locks.lock_disk(path):
            pass
    finally:
        program.kill()
        program.wait()
    with locks.lock_disk(path):
        assert len(locks.inherited_descriptors()) == 1
    assert os.listdir("/proc/self/fd")
