"""The inventory of a host, and setting things aside: the contract of every driver."""

import pytest

from compute.drivers.base import Ended, Power, Refused
from tests.compute.drivers.machines import (
    DISK,
    MACHINE,
    OTHER,
    SWAP,
    VOLUME,
    finish,
    machine_spec,
    make_machine,
    make_volume,
    swap_disk,
    with_volumes,
)


def only(driver):
    """Return the one machine of a host."""
    (found,) = driver.inventory().machines
    return found


def test_an_empty_host_has_nothing(driver):
    found = driver.inventory()
    assert (found.machines, found.leftovers, found.aside) == ((), (), frozenset())
    assert not found.volumes


def test_a_machine_is_found_with_its_disks_and_its_size_on_its_host_alone(hosts, driver):
    make_machine(driver)
    found = only(driver)
    assert (found.name, found.power, found.disks) == (MACHINE, Power.OFF, {DISK})
    assert (found.memory, found.vcpus, found.ended, found.arriving) == (2048, 2, None, False)
    assert hosts.at(OTHER).inventory().machines == ()
    driver.define(machine_spec(memory=4096))
    assert only(driver).memory == 4096


def test_a_machine_that_is_on_is_found_with_its_volumes_and_one_asked_to_stop_says_so(driver):
    name, boot = make_machine(driver)
    make_volume(driver)
    finish(lambda: driver.start(name, with_volumes(boot, sdb=VOLUME)))
    found = only(driver)
    assert (found.power, found.plugged, found.ended) == (Power.ON, {VOLUME}, None)
    assert driver.inventory().volumes == {VOLUME}
    with pytest.raises(Refused):
        driver.set_aside(name)
    with pytest.raises(Refused):
        driver.set_volume_aside(VOLUME)
    with pytest.raises(Refused):
        driver.discard(name)
    assert driver.power(name) is Power.ON

    finish(lambda: driver.stop(name))
    found = only(driver)
    assert (found.power, found.plugged, found.ended) == (Power.OFF, frozenset(), Ended.ASKED)


def test_a_machine_that_is_set_aside_is_kept_and_its_name_is_free(driver):
    make_machine(driver)
    driver.set_aside(MACHINE)
    driver.set_aside(MACHINE)
    assert driver.power(MACHINE) is Power.ABSENT
    assert driver.inventory().machines == ()
    (first,) = driver.inventory().aside
    make_machine(driver)
    driver.set_aside(MACHINE)
    both = driver.inventory().aside
    assert len(both) == 2
    assert first in both


def test_a_disk_that_is_set_aside_leaves_the_others(driver):
    make_machine(driver)
    finish(lambda: driver.create_disk(MACHINE, swap_disk()))
    driver.set_aside(MACHINE, SWAP)
    driver.set_aside(MACHINE, SWAP)
    assert only(driver).disks == {DISK}
    assert len(driver.inventory().aside) == 1


def test_a_volume_that_is_set_aside_is_seen_by_every_host_of_its_region(hosts, driver):
    make_volume(driver)
    hosts.at(OTHER).set_volume_aside(VOLUME)
    hosts.at(OTHER).set_volume_aside(VOLUME)
    assert driver.volume_size(VOLUME) is None
    assert not driver.inventory().volumes
    assert len(driver.inventory().aside) == 1


def test_quarantined_objects_are_deleted_by_their_name(driver):
    make_machine(driver)
    driver.set_aside(MACHINE)
    make_volume(driver)
    driver.set_volume_aside(VOLUME)
    for name in driver.inventory().aside:
        driver.discard(name)
        driver.discard(name)
    assert driver.inventory().aside == frozenset()


def test_a_machine_with_disks_is_no_shell_and_one_without_is(driver):
    make_machine(driver)
    with pytest.raises(Refused):
        driver.discard(MACHINE)
    driver.delete_disk(MACHINE, DISK)
    driver.discard(MACHINE)
    driver.discard(MACHINE)
    assert driver.power(MACHINE) is Power.ABSENT


def test_setting_aside_concerns_the_machines_of_the_host_alone(hosts, driver):
    make_machine(driver)
    hosts.at(OTHER).set_aside(MACHINE)
    hosts.at(OTHER).discard(MACHINE)
    assert only(driver).disks == {DISK}
