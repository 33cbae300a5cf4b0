"""A host's inventory after changes by hand. No machine is on unless a test says so."""

import os
import signal
import time

import pytest

from compute.drivers.qemu.agent import inventory, locks, records
from compute.drivers.qemu.agent.disks import machine_disks
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.machines import arrivals, lifecycle, machine_dirs
from compute.drivers.qemu.agent.machines.supervisor import BOOT, ENDED, STOP
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.hosts import (
    MACHINE,
    OTHER,
    VOLUME,
    boot,
    make_machine,
    make_volume,
    run_machine,
    typed,
    until_off,
)
from tests.waiting import wait_for

DISK = f"{MACHINE}-disk-1"
HOUR = 3600.0


@pytest.fixture
def folder(tmp_path) -> Store:
    """A host of which only the files matter."""
    (tmp_path / "shared" / "volumes").mkdir(parents=True)
    return Store(tmp_path / "host", tmp_path / "shared")


def left(path) -> None:
    """Make a path look like unfinished work that nobody has written to for an hour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (time.time() - HOUR, time.time() - HOUR))


def leftovers(store) -> dict[str, tuple[str, str]]:
    found = inventory.inventory(store)["leftovers"]
    assert all(each["age"] >= HOUR - 1 for each in found)
    return {each["name"]: (each["machine"], each["disk"]) for each in found}


def test_a_directory_without_a_description_is_a_machine_that_is_not_defined(folder):
    make_machine(folder)
    (folder.machine(MACHINE) / machine_dirs.DESCRIPTION).unlink()
    (found,) = inventory.inventory(folder)["machines"]
    assert (found["name"], found["power"], found["disks"], found["arriving"]) == (MACHINE, "absent", [DISK], False)

    lifecycle.define(folder, MACHINE, memory=64, vcpus=1, mac="f2:3c:00:00:00:07")
    (found,) = inventory.inventory(folder)["machines"]
    assert (found["power"], found["disks"], found["memory"]) == ("off", [DISK], 64)


def test_only_half_made_files_without_a_task_are_leftovers(folder):
    make_machine(folder)
    left(folder.machine(MACHINE) / "disks" / "skerry-7-disk-9.part")
    left(folder.incoming("skerry-image-1").with_suffix(".part"))
    left(folder.incoming("skerry-image-1").with_suffix(".coming"))
    left(folder.outgoing("skerry-backup-1-0"))
    left(folder.volume("skerry-volume-9").with_suffix(".part"))
    make_volume(folder)
    assert leftovers(folder) == {
        "machines/skerry-7/skerry-7-disk-9.part": (MACHINE, "skerry-7-disk-9"),
        "incoming/skerry-image-1.part": ("", ""),
        "incoming/skerry-image-1.coming": ("", ""),
        "outgoing/skerry-backup-1-0.raw": ("", ""),
        "shared/volumes/skerry-volume-9.part": ("", ""),
    }
    assert inventory.inventory(folder)["volumes"] == [VOLUME]
    for name in leftovers(folder):
        inventory.discard(folder, name)
        inventory.discard(folder, name)
    assert leftovers(folder) == {}
    assert machine_disks.disks(folder, MACHINE) == [DISK]
    assert folder.volume(VOLUME).exists()


def test_files_of_a_running_task_are_no_leftovers(folder):
    make_machine(folder)
    left(folder.machine(MACHINE) / "disks" / "skerry-7-disk-9.part")
    place = folder.tasks() / "disk.skerry-7.skerry-7-disk-9"
    place.mkdir(parents=True)
    lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
    assert locks.try_lock(lock)
    try:
        assert leftovers(folder) == {}
    finally:
        os.close(lock)
    assert len(leftovers(folder)) == 1


def test_a_copy_that_did_not_arrive_is_a_shell_though_it_has_a_disk(folder, tmp_path):
    there = Store(tmp_path / "there", folder.shared)
    make_machine(there)
    arrivals.expect(folder, MACHINE, arrivals.leaving(there, MACHINE))
    folder.disk(MACHINE, DISK).write_bytes(b"came in whole")
    (found,) = inventory.inventory(folder)["machines"]
    assert (found["power"], found["arriving"]) == ("absent", True)
    inventory.discard(folder, MACHINE)
    assert inventory.inventory(folder)["machines"] == []
    assert there.disk(MACHINE, DISK).exists()


@pytest.mark.parametrize(
    "name",
    ["", "..", "../shared/volumes/skerry-volume-7.raw", "shared/volumes/skerry-volume-7.raw", "aside/..", "aside/.",
     "shared/aside/../volumes", "machines/skerry-7/skerry-7-disk-1.raw", "machines/skerry-7", "host.json",
     "images/compute~debian12.raw", "incoming/../host.json", "/etc", "aside/a/b", "machines/../x/y.part"],
)  # fmt: skip
def test_nothing_else_can_be_discarded(folder, name):
    make_machine(folder)
    make_volume(folder)
    (folder.root / "aside").mkdir()
    (folder.shared / "aside").mkdir()
    with pytest.raises(Refused):
        inventory.discard(folder, name)
    assert machine_disks.disks(folder, MACHINE) == [DISK]
    assert folder.volume(VOLUME).exists()


def test_a_disk_that_was_half_changed_is_put_back_before_it_is_set_aside(folder):
    make_machine(folder)
    path = folder.disk(MACHINE, DISK)
    records.write(path.with_suffix(".unsettled"), {"back": False, "size": path.stat().st_size})
    os.truncate(path, 4096)
    inventory.set_aside(folder, MACHINE, DISK)
    kept = folder.root / "aside" / f"{DISK}.raw"
    assert kept.stat().st_size == 1 << 20
    assert inventory.inventory(folder)["aside"] == [f"aside/{DISK}.raw"]


@pytest.mark.parametrize(
    ("ended", "stopped", "same_boot", "why"),
    [
        ("guest-shutdown", False, True, "guest"),
        ("guest-shutdown", False, False, "guest"),
        ("host-request", True, True, "asked"),
        ("host-request", False, True, "killed"),  # somebody on the host ended QEMU
        ("host-request", False, False, "host"),  # its orderly shutdown did
        ("killed", False, True, "killed"),
        ("killed", False, False, "host"),
        (None, False, True, "killed"),
        (None, False, False, "host"),
        (None, True, False, "asked"),
        ("failed-to-start", False, True, None),
    ],
)
def test_why_a_machine_went_off(folder, ended, stopped, same_boot, why):
    make_machine(folder)
    directory = folder.machine(MACHINE)
    assert inventory.why_off(directory) is None
    records.write(directory / BOOT, {"host": machine_dirs.boot_id() if same_boot else "another"})
    if ended:
        records.write(directory / ENDED, {"why": ended})
    if stopped:
        records.write(directory / STOP, {})
    (found,) = inventory.inventory(folder)["machines"]
    assert found["ended"] == why


@pytest.mark.guest
def test_machines_that_are_on_have_their_volumes_and_cannot_be_put_away(store):
    make_volume(store)
    run_machine(store, volumes={VOLUME: "data"}, devices={"sda": DISK, "sdb": VOLUME})
    make_machine(store, OTHER)
    on, off = inventory.inventory(store)["machines"]
    assert (on["name"], on["power"], on["plugged"]) == (MACHINE, "on", [VOLUME])
    assert (off["name"], off["power"], off["plugged"]) == (OTHER, "off", [])
    for verb in (
        lambda: inventory.set_aside(store, MACHINE),
        lambda: inventory.set_aside(store, MACHINE, DISK),
        lambda: inventory.set_volume_aside(store, VOLUME),
        lambda: inventory.discard(store, MACHINE),
    ):
        with pytest.raises(Refused):
            verb()
    assert lifecycle.power(store, MACHINE) == "on"


@pytest.mark.guest
def test_the_end_of_a_guest_and_of_its_process_are_distinguished(store, running):
    typed(store, running, b"p")
    until_off(store)
    assert inventory.why_off(store.machine(running)) == "guest"

    wait_for(lambda: lifecycle.start(store, running, boot()).done, 500)
    for pid in machine_dirs.holders(store.machine(running)):
        os.kill(pid, signal.SIGKILL)
    until_off(store)
    assert inventory.why_off(store.machine(running)) == "killed"
