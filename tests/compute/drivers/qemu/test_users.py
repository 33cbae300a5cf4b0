"""The user that runs QEMU on a host whose agent is root's."""

import os
import pwd
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import locks
from compute.drivers.qemu.agent.disks import copies, machine_disks
from compute.drivers.qemu.agent.machines import command_line, devices, lifecycle, machine_dirs
from compute.drivers.qemu.agent.settings import Settings
from tests.compute.drivers.qemu.hosts import MACHINE, configure, make_volume, run_machine, until_done
from tests.waiting import wait_for

USER = "nobody"


def test_qemu_becomes_the_user_of_the_host_where_it_can(monkeypatch):
    monkeypatch.setattr(command_line.os, "geteuid", lambda: 0)
    words = command_line.confinement(Settings(user=USER))
    assert words[-2:] == ["-runas", USER]
    assert "elevateprivileges" not in words[1]
    assert "spawn=deny" in words[1]
    assert command_line.confinement(Settings()) == ["-sandbox", command_line.SANDBOX]
    monkeypatch.setattr(command_line.os, "geteuid", lambda: 1000)
    assert command_line.confinement(Settings(user=USER)) == ["-sandbox", command_line.SANDBOX]


@pytest.fixture
def confined(store, monkeypatch) -> str:
    """A machine that is on, whose QEMU runs as another user."""
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    configure(store, user=USER)
    return run_machine(store)


def ids(directory: Path, what: str) -> list[set[int]]:
    """Return the users, or the capabilities, of a machine's QEMU processes."""
    found = []
    for pid in machine_dirs.holders(directory):
        if b"agent.machines.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes():
            continue
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                found.append({int(each, 16 if what.startswith("Cap") else 10) for each in line.split()[1:]})
    return found


@pytest.mark.guest
def test_qemu_is_the_users_without_capabilities(store, confined):
    directory = store.machine(confined)
    assert ids(directory, "Uid") == [{pwd.getpwnam(USER).pw_uid}]
    assert ids(directory, "CapEff") == [{0}]
    assert store.disk(confined, f"{confined}-disk-1").stat().st_uid == 0, "its disks are not"


@pytest.mark.guest
def test_volumes_are_plugged_and_let_go_of(store, confined):
    volume = make_volume(store)
    devices.plug(store, confined, volume, "data")
    assert devices.machine_with(store, volume) == confined
    devices.unplug(store, confined, volume)
    wait_for(
        lambda: (devices.unplug(store, confined, volume), locks.is_in_use(store.volume(volume)))[1] is False, 100
    )


@pytest.mark.guest
def test_disks_in_use_are_copied_and_the_copies_are_not_in_use(store, confined, tmp_path):
    target = tmp_path / "copy"
    disk = f"{confined}-disk-1"
    until_done(lambda: copies.copy(store, confined, disk, target))
    assert target.read_bytes() == store.disk(confined, disk).read_bytes()
    assert not locks.is_in_use(target)


@pytest.mark.guest
def test_it_powers_off_as_ever(store, confined):
    until_done(lambda: lifecycle.stop(store, confined))
    assert lifecycle.ended(store, confined)["why"] == "host-request"
    assert machine_disks.disks(store, MACHINE)
