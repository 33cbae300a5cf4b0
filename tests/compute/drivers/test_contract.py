"""What every driver promises: compute/drivers/base.py, held against each driver of conftest's `DRIVERS`."""

import pytest

from compute.drivers.base import DriverError, Power, Refused
from tests.compute.drivers.machines import (
    DISK,
    HOST,
    MACHINE,
    SWAP,
    boot_spec,
    finish,
    image_disk,
    machine_spec,
    make_machine,
    run_machine,
    swap_disk,
)

pytestmark = pytest.mark.django_db


def test_an_unknown_machine_is_absent_and_has_no_disks(driver):
    assert driver.power(MACHINE) is Power.ABSENT
    assert driver.disks(MACHINE) == frozenset()
    assert driver.powered_off(HOST) == frozenset()


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


def test_a_known_machine_may_change_its_frame_but_not_its_host(driver):
    driver.define(machine_spec())
    driver.define(machine_spec(memory=4096))
    with pytest.raises(Refused):
        driver.define(machine_spec(host="us-test-h2"))
    assert driver.powered_off(HOST) == {MACHINE}


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


def test_stopping_what_is_off_or_unknown_succeeds(driver):
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


def test_deleting_what_was_never_made_succeeds(driver):
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


def test_the_watchdog_sees_the_machines_of_its_host_that_are_off(driver):
    run_machine(driver, "skerry-1")
    make_machine(driver, "skerry-2")
    make_machine(driver, "skerry-3", host="us-test-h2")
    assert driver.powered_off(HOST) == {"skerry-2"}
    assert driver.powered_off("us-test-h2") == {"skerry-3"}


def test_machines_do_not_see_each_others_disks(driver):
    make_machine(driver, "skerry-1")
    make_machine(driver, "skerry-2")
    with pytest.raises(Refused):
        driver.start("skerry-1", boot_spec("skerry-2-disk-1"))
