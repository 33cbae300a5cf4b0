"""The contract of every driver: compute/drivers/base.py, checked with each driver of conftest's `DRIVERS`."""

import gzip
import select
from dataclasses import replace

import pytest

from compute.drivers.base import (
    DiskSpec,
    DriverError,
    FirewallRule,
    FirewallRules,
    FirewallSpec,
    NoConsole,
    Power,
    Refused,
)
from compute.drivers.simulated.driver import SimulatedDriver
from tests.compute.drivers.machines import (
    ARCHIVE,
    COPY,
    DISK,
    MACHINE,
    OTHER,
    SWAP,
    THIRD,
    VOLUME,
    boot_spec,
    finish,
    image_disk,
    machine_spec,
    make_machine,
    make_volume,
    run_machine,
    swap_disk,
    volume_spec,
    with_volumes,
)

pytestmark = pytest.mark.django_db


def test_an_unknown_machine_is_absent_and_has_no_disks(driver):
    assert driver.power(MACHINE) is Power.ABSENT
    assert driver.disks(MACHINE) == frozenset()
    assert driver.powered_off() == frozenset()


def test_undo_calls_succeed_if_nothing_exists(driver):
    """A job whose machine, disk, volume or archive is gone must be able to end."""
    driver.undefine(MACHINE)
    driver.delete_disk(MACHINE, DISK)
    driver.unplug(MACHINE, VOLUME)
    driver.delete_volume(VOLUME)
    driver.delete_archive(ARCHIVE)
    assert driver.stop(MACHINE).done
    assert (driver.volume_size(VOLUME), driver.archive_size(ARCHIVE)) == (None, None)
    # these report that there is nothing, and the undo then checks that the machine is absent or the disk not
    # listed
    with pytest.raises(Refused):
        driver.resize_disk(MACHINE, DISK, 1024)
    with pytest.raises(Refused):
        driver.plug(MACHINE, VOLUME, "data")


def test_a_defined_machine_is_off_and_without_disks(driver):
    driver.define(machine_spec())
    assert driver.power(MACHINE) is Power.OFF
    assert driver.disks(MACHINE) == frozenset()


def test_a_machine_lives_from_definition_to_removal(driver):
    driver.define(machine_spec())
    finish(lambda: driver.create_disk(MACHINE, image_disk()))
    finish(lambda: driver.create_disk(MACHINE, swap_disk()))
    assert driver.disks(MACHINE) == {DISK, SWAP}
    finish(lambda: driver.start(MACHINE, boot_spec(DISK, SWAP)))
    assert driver.power(MACHINE) is Power.ON
    finish(lambda: driver.stop(MACHINE))
    assert driver.power(MACHINE) is Power.OFF
    driver.delete_disk(MACHINE, SWAP)
    assert driver.disks(MACHINE) == {DISK}
    driver.undefine(MACHINE)
    assert driver.power(MACHINE) is Power.ABSENT


def test_defining_again_keeps_power_and_disks(driver):
    run_machine(driver)
    driver.define(machine_spec())
    assert driver.power(MACHINE) is Power.ON
    assert driver.disks(MACHINE) == {DISK}


def test_a_known_machine_may_change_its_frame(driver):
    driver.define(machine_spec())
    driver.define(machine_spec(memory=4096))
    assert driver.powered_off() == {MACHINE}


def test_creating_a_disk_again_changes_nothing(driver):
    driver.define(machine_spec())
    finish(lambda: driver.create_disk(MACHINE, image_disk()))
    assert driver.create_disk(MACHINE, image_disk()).done
    assert driver.disks(MACHINE) == {DISK}


def test_a_disk_of_an_unknown_machine_is_refused(driver):
    with pytest.raises(Refused):
        driver.create_disk(MACHINE, image_disk())
    assert driver.power(MACHINE) is Power.ABSENT


def test_starting_a_machine_that_is_on_changes_nothing(driver):
    name, boot = run_machine(driver)
    assert driver.start(name, boot).done
    assert driver.power(name) is Power.ON


def test_a_start_of_an_unknown_machine_is_refused(driver):
    with pytest.raises(Refused):
        driver.start(MACHINE, boot_spec())


@pytest.mark.parametrize("disks", [(), (SWAP,), (DISK, SWAP)])
def test_a_start_from_a_disk_that_is_not_there_is_refused(driver, disks):
    driver.define(machine_spec())
    if DISK in disks:
        finish(lambda: driver.create_disk(MACHINE, image_disk()))
    with pytest.raises(Refused):
        driver.start(MACHINE, boot_spec(*disks))
    assert driver.power(MACHINE) is Power.OFF


def test_a_rescue_needs_no_disk(driver):
    driver.define(machine_spec())
    boot = replace(boot_spec(), devices={}, rescue=True)
    finish(lambda: driver.start(MACHINE, boot))
    assert driver.power(MACHINE) is Power.ON


def test_a_rescue_with_a_disk_that_is_not_there_is_refused(driver):
    driver.define(machine_spec())
    with pytest.raises(Refused):
        driver.start(MACHINE, replace(boot_spec(), rescue=True))


def test_a_machine_boots_again_after_a_stop(driver):
    name, boot = run_machine(driver)
    finish(lambda: driver.stop(name))
    finish(lambda: driver.start(name, boot))
    assert driver.power(name) is Power.ON


def test_a_start_during_a_shutdown_ends_with_the_machine_on(driver):
    name, boot = run_machine(driver)
    driver.stop(name)
    finish(lambda: driver.start(name, boot))
    assert driver.power(name) is Power.ON


def test_a_stop_during_a_boot_ends_with_the_machine_off(driver):
    name, boot = make_machine(driver)
    driver.start(name, boot)
    finish(lambda: driver.stop(name))
    assert driver.power(name) is Power.OFF


def test_stopping_a_machine_that_is_off_or_unknown_succeeds(driver):
    assert driver.stop(MACHINE).done
    driver.define(machine_spec())
    assert driver.stop(MACHINE).done
    assert driver.power(MACHINE) is Power.OFF


def test_a_disk_in_use_is_not_deleted(driver):
    name, _ = run_machine(driver)
    with pytest.raises(DriverError) as caught:
        driver.delete_disk(name, DISK)
    assert not isinstance(caught.value, Refused)
    finish(lambda: driver.stop(name))
    driver.delete_disk(name, DISK)
    assert driver.disks(name) == frozenset()


def test_a_disk_not_in_use_is_deleted_while_the_machine_is_on(driver):
    name, _ = run_machine(driver)
    finish(lambda: driver.create_disk(name, swap_disk()))
    driver.delete_disk(name, SWAP)
    assert driver.disks(name) == {DISK}


def test_deleting_an_object_that_was_never_made_succeeds(driver):
    driver.delete_disk(MACHINE, DISK)
    driver.undefine(MACHINE)
    driver.define(machine_spec())
    driver.delete_disk(MACHINE, DISK)
    assert driver.power(MACHINE) is Power.OFF


def test_undefining_a_machine_that_is_on_cuts_its_power_and_deletes_its_disks(driver):
    run_machine(driver)
    driver.undefine(MACHINE)
    driver.undefine(MACHINE)
    assert driver.power(MACHINE) is Power.ABSENT
    driver.define(machine_spec())
    assert driver.disks(MACHINE) == frozenset()


def test_the_watchdog_sees_the_machines_of_its_host_that_are_off(hosts, driver):
    run_machine(driver, "skerry-1")
    make_machine(driver, "skerry-2")
    make_machine(hosts.at(OTHER), "skerry-3")
    assert driver.powered_off() == {"skerry-2"}
    assert hosts.at(OTHER).powered_off() == {"skerry-3"}


def test_machines_do_not_see_each_others_disks(driver):
    make_machine(driver, "skerry-1")
    make_machine(driver, "skerry-2")
    with pytest.raises(Refused):
        driver.start("skerry-1", boot_spec("skerry-2-disk-1"))


# --- copies and archives ------------------------------------------------------------------------------------------


def test_a_disk_is_copied_with_its_content_in_use_or_not(driver):
    run_machine(driver)
    copy = DiskSpec(COPY, 25088, "ext4", copy_of=(MACHINE, DISK))
    finish(lambda: driver.create_disk(MACHINE, copy))
    assert driver.create_disk(MACHINE, copy).done, "once more changes nothing"
    assert driver.disks(MACHINE) == {DISK, COPY}


def test_a_disk_is_copied_to_another_machine(driver):
    make_machine(driver)
    driver.define(machine_spec("skerry-8", mac="f2:3c:00:00:00:08"))
    copy = DiskSpec("skerry-8-disk-9", 25088, "ext4", copy_of=(MACHINE, DISK))
    finish(lambda: driver.create_disk("skerry-8", copy))
    driver.undefine(MACHINE)
    finish(lambda: driver.start("skerry-8", boot_spec("skerry-8-disk-9")))


def test_missing_sources_cannot_be_copied_or_deployed(driver):
    make_machine(driver)
    with pytest.raises(Refused):
        driver.create_disk(MACHINE, DiskSpec(COPY, 1000, "ext4", copy_of=(MACHINE, SWAP)))
    with pytest.raises(Refused):
        driver.create_disk(MACHINE, DiskSpec(COPY, 1000, "ext4", image=ARCHIVE))
    with pytest.raises(Refused):
        driver.save_disk(MACHINE, SWAP, ARCHIVE)
    assert driver.disks(MACHINE) == {DISK}
    assert driver.archive_size(ARCHIVE) is None


def test_an_archive_outlives_the_machine_it_was_made_from(driver):
    run_machine(driver)
    finish(lambda: driver.save_disk(MACHINE, DISK, ARCHIVE))
    assert driver.save_disk(MACHINE, DISK, ARCHIVE).done
    driver.undefine(MACHINE)
    size = driver.archive_size(ARCHIVE)
    assert size
    assert size < 25088

    driver.define(machine_spec())
    with pytest.raises(Refused):
        driver.create_disk(MACHINE, DiskSpec(COPY, size - 1, "ext4", image=ARCHIVE))
    finish(lambda: driver.create_disk(MACHINE, DiskSpec(COPY, size, "ext4", image=ARCHIVE)))
    finish(lambda: driver.start(MACHINE, boot_spec(COPY)))


def test_an_archive_that_is_deleted_is_gone_and_may_be_deleted_again(driver):
    make_machine(driver)
    finish(lambda: driver.save_disk(MACHINE, DISK, ARCHIVE))
    driver.delete_archive(ARCHIVE)
    driver.delete_archive(ARCHIVE)
    assert driver.archive_size(ARCHIVE) is None


def test_an_uploaded_file_becomes_an_archive(driver, tmp_path):
    file = tmp_path / "disk.gz"
    file.write_bytes(gzip.compress(bytes(3 * 1024**2)))
    finish(lambda: driver.archive_upload(ARCHIVE, str(file), 3))
    file.unlink()
    assert driver.archive_upload(ARCHIVE, str(file), 3).done, "it was taken in already"
    assert driver.archive_size(ARCHIVE) == 3
    with pytest.raises(Refused):
        driver.archive_upload("skerry-image-8", str(file), 3)


# --- resizing, passwords, moving ----------------------------------------------------------------------------------


def test_a_disk_that_is_not_in_use_is_resized(driver):
    make_machine(driver)
    finish(lambda: driver.resize_disk(MACHINE, DISK, 30000))
    assert driver.resize_disk(MACHINE, DISK, 30000).done
    finish(lambda: driver.resize_disk(MACHINE, DISK, 25088))


def test_a_disk_is_not_resized_in_use_or_below_its_files(driver):
    make_machine(driver)
    with pytest.raises(Refused):
        driver.resize_disk(MACHINE, DISK, 1)
    with pytest.raises(Refused):
        driver.resize_disk(MACHINE, SWAP, 1000)
    run_machine(driver, "skerry-9")
    with pytest.raises(Refused):
        driver.resize_disk("skerry-9", "skerry-9-disk-1", 30000)


def test_a_password_is_set_where_there_is_a_system_and_nobody_uses_it(driver):
    make_machine(driver)
    finish(lambda: driver.create_disk(MACHINE, swap_disk()))
    driver.set_password(MACHINE, DISK, "Low-tide.at-seven-4")
    driver.set_password(MACHINE, DISK, "Low-tide.at-seven-4")
    for disk in (SWAP, COPY):
        with pytest.raises(Refused):
            driver.set_password(MACHINE, disk, "Low-tide.at-seven-4")
    finish(lambda: driver.start(MACHINE, boot_spec(DISK)))
    with pytest.raises(Refused):
        driver.set_password(MACHINE, DISK, "High-tide.at-one-5")


def test_a_machine_moves_with_its_disks_and_back(hosts, driver):
    make_machine(driver)
    finish(lambda: hosts.at(OTHER).receive(MACHINE, driver))
    assert hosts.at(OTHER).receive(MACHINE, driver).done
    assert hosts.at(OTHER).powered_off() == {MACHINE}
    assert driver.powered_off() == frozenset()
    assert hosts.at(OTHER).disks(MACHINE) == {DISK}
    finish(lambda: driver.receive(MACHINE, hosts.at(OTHER)))
    assert driver.powered_off() == {MACHINE}
    finish(lambda: driver.start(MACHINE, boot_spec(DISK)))


def test_a_machine_that_is_on_or_not_there_does_not_move(hosts, driver):
    run_machine(driver)
    for machine in (MACHINE, "skerry-8"):
        with pytest.raises(Refused):
            hosts.at(OTHER).receive(machine, driver)
    assert driver.power(MACHINE) is Power.ON


def test_only_machines_that_are_on_report_usage(hosts, driver):
    name, _ = run_machine(driver)
    make_machine(driver, "skerry-8")
    run_machine(hosts.at(OTHER), "skerry-9")
    [first] = driver.usage()
    assert first.machine == name
    [second] = driver.usage()
    counters = [field for field in first.__slots__ if field != "machine"]
    assert all(0 <= getattr(first, each) <= getattr(second, each) for each in counters)
    assert hosts.at(THIRD).usage() == []


# --- volumes ------------------------------------------------------------------------------------------------------


def in_use(driver, volume: str = VOLUME) -> bool:
    """Tell whether a machine that is on has the volume. A volume that no machine has is deleted by this check."""
    try:
        driver.delete_volume(volume)
    except Refused:
        raise
    except DriverError:
        return True
    return False


def test_a_volume_is_made_grows_and_is_deleted_each_once_or_more(driver):
    assert driver.volume_size(VOLUME) is None
    make_volume(driver)
    assert driver.create_volume(volume_spec()).done, "once more changes nothing"
    assert driver.volume_size(VOLUME) == 20
    for _ in range(2):
        finish(lambda: driver.resize_volume(VOLUME, 30))
    assert driver.volume_size(VOLUME) == 30
    for _ in range(2):
        driver.delete_volume(VOLUME)
    assert driver.volume_size(VOLUME) is None


def test_a_volume_never_shrinks(driver):
    make_volume(driver)
    with pytest.raises(Refused):
        driver.resize_volume(VOLUME, 19)
    assert driver.volume_size(VOLUME) == 20
    with pytest.raises(Refused):
        driver.resize_volume("skerry-volume-8", 30)


def test_a_volume_is_copied_in_use_or_not_and_outlives_its_original(driver):
    with pytest.raises(Refused):
        driver.create_volume(volume_spec("skerry-volume-8", copy_of=VOLUME))
    name, _ = run_machine(driver)
    make_volume(driver)
    driver.plug(name, VOLUME, "data")
    make_volume(driver, "skerry-volume-8", copy_of=VOLUME)
    driver.unplug(name, VOLUME)
    driver.delete_volume(VOLUME)
    assert driver.volume_size("skerry-volume-8") == 20


def test_a_machine_boots_with_volumes_and_needs_no_disk_then(driver):
    driver.define(machine_spec())
    make_volume(driver)
    finish(lambda: driver.start(MACHINE, with_volumes(replace(boot_spec(), devices={}), sda=VOLUME)))
    assert driver.power(MACHINE) is Power.ON
    assert in_use(driver)
    finish(lambda: driver.resize_volume(VOLUME, 30))


def test_a_start_with_a_volume_that_is_not_there_is_refused(driver):
    name, boot = make_machine(driver)
    with pytest.raises(Refused):
        driver.start(name, with_volumes(boot, sdb=VOLUME))
    assert driver.power(name) is Power.OFF


def test_a_machine_has_a_volume_until_it_is_unplugged_or_off(driver):
    name, boot = make_machine(driver)
    make_volume(driver)
    finish(lambda: driver.start(name, with_volumes(boot, sdb=VOLUME)))
    for _ in range(2):
        driver.unplug(name, VOLUME)
    for _ in range(2):
        driver.plug(name, VOLUME, "data")
    assert in_use(driver)
    finish(lambda: driver.stop(name))
    assert not in_use(driver)


def test_a_volume_that_was_plugged_in_is_not_there_at_the_next_boot_unless_that_names_it(driver):
    name, boot = run_machine(driver)
    make_volume(driver)
    driver.plug(name, VOLUME, "data")
    finish(lambda: driver.stop(name))
    finish(lambda: driver.start(name, boot))
    assert not in_use(driver)


def test_a_machine_that_is_on_takes_64_disks_and_volumes(driver):
    name, boot = run_machine(driver)
    volumes = [f"skerry-volume-{100 + number}" for number in range(64 - len(boot.devices))]
    for number, volume in enumerate(volumes):
        make_volume(driver, volume)
        driver.plug(name, volume, f"data-{number}")
    (found,) = driver.inventory().machines
    assert found.plugged == frozenset(volumes)


def test_a_machine_that_is_off_is_given_no_volume(driver):
    name, _ = make_machine(driver)
    make_volume(driver)
    driver.plug(name, VOLUME, "data")
    assert not in_use(driver)


def test_two_machines_that_are_on_never_have_one_volume(driver):
    make_volume(driver)
    first, boot = run_machine(driver, "skerry-1")
    driver.plug(first, VOLUME, "data")
    second, other = make_machine(driver, "skerry-2")
    with pytest.raises(Refused):
        driver.start(second, with_volumes(other, sdb=VOLUME))
    finish(lambda: driver.start(second, other))
    with pytest.raises(Refused):
        driver.plug(second, VOLUME, "data")
    finish(lambda: driver.stop(first))
    driver.plug(second, VOLUME, "data")
    with pytest.raises(Refused):
        driver.start(first, with_volumes(boot, sdb=VOLUME))


def test_a_machine_that_goes_lets_its_volumes_be(driver):
    name, boot = make_machine(driver)
    make_volume(driver)
    finish(lambda: driver.start(name, with_volumes(boot, sdb=VOLUME)))
    driver.undefine(name)
    assert driver.volume_size(VOLUME) == 20
    driver.unplug(name, VOLUME)
    assert not in_use(driver)


def test_a_missing_volume_is_not_plugged_in(driver):
    make_volume(driver)
    with pytest.raises(Refused):
        driver.plug(MACHINE, VOLUME, "data")
    run_machine(driver)
    with pytest.raises(Refused):
        driver.plug(MACHINE, "skerry-volume-8", "data")


# --- firewalls ------------------------------------------------------------------------------------------------

OLD = FirewallSpec(3, closed_ports=(25, 465, 587))
NEW = FirewallSpec(
    4,
    FirewallRules(
        inbound=(FirewallRule("accept", "tcp", ((22, 22), (80, 90)), ("198.51.100.0/24",), ("::/0",), "ssh"),),
        outbound=(FirewallRule("drop", "icmp", ipv4=("0.0.0.0/0",)),),
        inbound_policy="drop",
    ),
    (25,),
)


@pytest.mark.parametrize("make", [make_machine, run_machine], ids=["off", "on"])
def test_a_machine_has_the_packet_filter_that_was_set_last(driver, make):
    make(driver)
    assert driver.firewall(MACHINE) is None
    assert [driver.set_firewall(MACHINE, each) for each in (OLD, OLD, NEW)] == [3, 3, 4]
    assert driver.firewall(MACHINE) == NEW


def test_an_older_firewall_changes_nothing_and_gets_the_newer_version(driver):
    make_machine(driver)
    driver.set_firewall(MACHINE, NEW)
    assert driver.set_firewall(MACHINE, OLD) == 4
    assert driver.firewall(MACHINE) == NEW


def test_a_machine_that_is_not_there_is_filtered_by_nothing(driver):
    assert driver.set_firewall(MACHINE, NEW) == 0
    driver.define(machine_spec())
    assert driver.firewall(MACHINE) is None


def test_a_boot_brings_the_firewall(driver):
    name, boot = make_machine(driver)
    finish(lambda: driver.start(name, replace(boot, firewall=OLD)))
    assert driver.firewall(name) == OLD


def test_a_boot_takes_back_nothing_that_is_newer(driver):
    name, boot = make_machine(driver)
    driver.set_firewall(name, NEW)
    finish(lambda: driver.start(name, replace(boot, firewall=OLD)))
    assert driver.firewall(name) == NEW


def test_a_boot_that_says_nothing_of_a_firewall_leaves_it(driver):
    name, boot = make_machine(driver)
    driver.set_firewall(name, NEW)
    finish(lambda: driver.start(name, boot))
    assert driver.firewall(name) == NEW


def test_a_firewall_moves_with_its_machine_and_outlasts_its_power(hosts, driver):
    name, boot = run_machine(driver)
    driver.set_firewall(name, NEW)
    finish(lambda: driver.stop(name))
    there = hosts.at(OTHER)
    finish(lambda: there.receive(name, driver))
    there.define(machine_spec())
    finish(lambda: there.start(name, boot))
    assert there.firewall(name) == NEW


def test_a_machine_that_is_made_anew_has_no_firewall(driver):
    make_machine(driver)
    driver.set_firewall(MACHINE, NEW)
    driver.undefine(MACHINE)
    driver.define(machine_spec())
    assert driver.firewall(MACHINE) is None


# --- hosts --------------------------------------------------------------------------------------------------------


def test_a_prepared_host_reports_its_capacity(driver):
    finish(driver.prepare)
    assert driver.prepare().done
    report = driver.inspect()
    for size in (report.memory, report.vcpus, report.disk):
        assert size is None or size > 0
    assert report.images is None or "compute/debian12" in {image.id for image in report.images}


def test_a_host_accepts_the_same_peers_repeatedly(driver):
    run_machine(driver)
    for peers in (["198.18.0.2"], ["198.18.0.2"], []):
        driver.set_peers("198.18.0.1" if peers else "", peers, ["198.51.100.0/24", "2001:db8:77:0:f03c::/80"])
    assert driver.power(MACHINE) is Power.ON


def test_hosts_of_a_region_have_the_same_volumes(hosts, driver):
    assert driver.same_volumes(hosts.at(OTHER))
    assert hosts.at(OTHER).same_volumes(driver)


def test_a_console_shows_earlier_output(driver):
    run_machine(driver)
    if isinstance(driver, SimulatedDriver):
        with pytest.raises(NoConsole, match="simulated"):
            driver.console(MACHINE)
        return
    console = driver.console(MACHINE)
    shown = b""
    while not shown:
        select.select([console.fileno()], [], [], 60)
        shown = console.read()
    console.close()
    assert shown.decode().isprintable() or b"\n" in shown


def test_there_is_no_console_of_a_machine_that_is_off(driver):
    with pytest.raises(Refused):
        driver.console(MACHINE)
    assert driver.ssh_port(MACHINE) is None
    driver.define(machine_spec())
    with pytest.raises(Refused):
        driver.console(MACHINE)
    assert driver.ssh_port(MACHINE) is None
