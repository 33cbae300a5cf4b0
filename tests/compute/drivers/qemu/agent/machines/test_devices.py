"""Volumes of machines that are on: plugged in, grown and unplugged while they run."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from compute.drivers.qemu.agent import locks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import devices, lifecycle
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine
from compute.drivers.qemu.agent.machines.qmp import QMP
from tests.compute.drivers.qemu.hosts import (
    MACHINE,
    OTHER,
    VOLUME,
    boot,
    configure,
    make_volume,
    run_machine,
    until_done,
)

pytestmark = pytest.mark.guest


def with_volume(machine: str = MACHINE, volume: str = VOLUME):
    return boot(machine, devices={"sda": f"{machine}-disk-1", "sdc": volume}, volumes={volume: "data"})


def ask(store, command: str, **arguments):
    with QMP(store.machine(MACHINE) / "ask") as qemu:
        return qemu.call(command, **arguments)


def test_a_volume_is_plugged_in_and_out_each_once_or_more(store, running):
    make_volume(store)
    for _ in range(2):
        devices.plug(store, running, VOLUME, "data")
    assert devices.volumes_of(store, running) == [VOLUME]
    assert devices.machine_with(store, VOLUME) == running
    for _ in range(2):
        devices.unplug(store, running, VOLUME)
    assert devices.volumes_of(store, running) == []
    assert devices.machine_with(store, VOLUME) is None
    assert not locks.is_in_use(store.volume(VOLUME))


def test_the_guest_sees_a_volume_by_its_label(store, running):
    make_volume(store)
    devices.plug(store, running, VOLUME, "my_data-1")
    path = f"/machine/peripheral/{VOLUME}"
    seen = {each: ask(store, "qom-get", path=path, property=each) for each in ("vendor", "product", "device_id")}
    assert seen == {"vendor": "Skerry", "product": "Volume", "device_id": "my_data-1"}


def test_a_volume_of_the_boot_is_unplugged_as_well(store, running):
    make_volume(store)
    until_done(lambda: lifecycle.stop(store, running))
    until_done(lambda: lifecycle.start(store, running, with_volume()))
    assert devices.volumes_of(store, running) == [VOLUME]
    devices.unplug(store, running, VOLUME)
    devices.plug(store, running, VOLUME, "data")
    assert devices.volumes_of(store, running) == [VOLUME]


def test_a_volume_that_was_plugged_in_is_not_there_at_the_next_boot(store, running):
    make_volume(store)
    devices.plug(store, running, VOLUME, "data")
    until_done(lambda: lifecycle.stop(store, running))
    until_done(lambda: lifecycle.start(store, running, boot()))
    assert devices.volumes_of(store, running) == []
    assert not locks.is_in_use(store.volume(VOLUME))


def test_a_machine_that_is_off_is_given_no_volume(store, machine):
    with pytest.raises(Refused):
        devices.plug(store, machine, VOLUME, "data")
    make_volume(store)
    devices.plug(store, machine, VOLUME, "data")
    devices.unplug(store, machine, VOLUME)
    assert devices.volumes_of(store, machine) == []


def test_two_machines_that_are_on_never_have_one_volume(store, running):
    make_volume(store)
    devices.plug(store, running, VOLUME, "data")
    run_machine(store, OTHER)
    with pytest.raises(Refused, match="Another machine"):
        devices.plug(store, OTHER, VOLUME, "data")
    until_done(lambda: lifecycle.stop(store, OTHER))
    with pytest.raises(Refused, match="Another machine"):
        lifecycle.start(store, OTHER, with_volume(OTHER))
    until_done(lambda: lifecycle.stop(store, running))
    until_done(lambda: lifecycle.start(store, OTHER, with_volume(OTHER)))
    assert devices.machine_with(store, VOLUME) == OTHER


def test_a_volume_goes_to_one_of_two_simultaneous_machines(store, running):
    run_machine(store, OTHER)
    make_volume(store)

    def want(machine):
        try:
            devices.plug(store, machine, VOLUME, "data")
        except Failed:
            return 0
        return 1

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(want, (MACHINE, OTHER))) == 1


def test_a_volume_that_somebody_works_on_is_plugged_in_later(store, running):
    make_volume(store)
    with locks.lock_disk(store.volume(VOLUME)), pytest.raises(Failed) as caught:
        devices.plug(store, running, VOLUME, "data")
    assert not isinstance(caught.value, Refused)
    devices.plug(store, running, VOLUME, "data")


def test_a_missing_volume_is_not_plugged_in(store, running):
    with pytest.raises(Refused):
        devices.plug(store, running, VOLUME, "data")
    store.volume(VOLUME).with_suffix(".part").touch()
    with pytest.raises(Failed) as caught:
        devices.plug(store, running, VOLUME, "data")
    assert not isinstance(caught.value, Refused)
    with pytest.raises(NoMachine):
        devices.plug(store, OTHER, VOLUME, "data")
    devices.unplug(store, OTHER, VOLUME)


def test_there_is_place_for_64(store, running):
    for number in range(63):
        devices.plug(store, running, make_volume(store, f"skerry-volume-1{number}"), f"data-{number}")
    with pytest.raises(Refused, match="64 disks"):
        devices.plug(store, running, make_volume(store), "data")
    devices.unplug(store, running, "skerry-volume-13")
    devices.plug(store, running, VOLUME, "data")


def test_half_a_plugging_is_cleared_away_by_the_next(store, running):
    """As after a caller was killed between QEMU's opening of the volume and the guest's device."""
    path = make_volume(store) and store.volume(VOLUME)
    ask(
        store, "blockdev-add", driver="raw", **{"node-name": "lun1"}, file={"driver": "file", "filename": str(path)}
    )
    devices.plug(store, running, VOLUME, "data")
    assert devices.volumes_of(store, running) == [VOLUME]


def test_half_an_unplugging_is_finished_by_the_next(store, running):
    make_volume(store)
    devices.plug(store, running, VOLUME, "data")
    ask(store, "device_del", id=VOLUME)
    devices.unplug(store, running, VOLUME)
    assert not locks.is_in_use(store.volume(VOLUME))


@pytest.mark.parametrize("iops", [300, 0])
def test_disks_and_volumes_come_under_the_limits_that_the_machine_booted_with(store, machine, iops):
    configure(store, disk_iops=iops, disk_rate=0)
    until_done(lambda: lifecycle.start(store, machine, boot()))
    configure(store, disk_iops=500)  # for its next boot
    make_volume(store)
    for _ in range(2):
        devices.plug(store, machine, VOLUME, "data")
        assert limits(store) == dict.fromkeys((f"{machine}-disk-1", VOLUME), (iops, "limits" if iops else None))
        # as after a caller was killed before it limited the volume
        ask(store, "block_set_io_throttle", id=VOLUME, **dict.fromkeys(NO_LIMITS, 0))
    until_done(lambda: lifecycle.stop(store, machine))
    until_done(lambda: lifecycle.start(store, machine, with_volume()))
    assert limits(store) == dict.fromkeys((f"{machine}-disk-1", VOLUME), (500, "limits"))


NO_LIMITS = ("iops", "iops_rd", "iops_wr", "bps", "bps_rd", "bps_wr")


def limits(store) -> dict[str, tuple[int, str | None]]:
    """Return the operations per second of each disk and volume of a machine, and the group that shares them."""
    found = [each for each in ask(store, "query-block") if each.get("inserted")]
    return {each["qdev"]: (each["inserted"]["iops"], each["inserted"].get("group")) for each in found}


def test_a_volume_grows_in_use(store, running):
    make_volume(store)
    assert not devices.resize_running(store, running, VOLUME, 3 << 20)
    devices.plug(store, running, VOLUME, "data")
    for _ in range(2):
        assert devices.resize_running(store, running, VOLUME, 3 << 20)
    assert os.stat(store.volume(VOLUME)).st_size == 3 << 20
    until_done(lambda: lifecycle.stop(store, running))
    assert not devices.resize_running(store, running, VOLUME, 4 << 20)
