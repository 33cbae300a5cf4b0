"""Repairs of drift on a host in memory: by the platform itself, and by the verbs of staff."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Address, DiskSpec, Leftover, VolumeSpec
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Drift, Host, Instance, Job
from compute.services.hosts import drift_verbs
from config.errors import Busy, Invalid
from tests.compute.comparing import STAFF, STRANGER, Kind, boot_data, compare, is_over, seen, unfinished
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db


def test_a_machine_that_nobody_knows_is_set_aside_by_staff_and_deleted_by_a_second_verb(driver, instance, machine):
    driver.machines[STRANGER] = {**machine, "disks": {"skerry-999999-disk-1": DiskSpec("d", 1, "ext4")}}
    drift = seen(Kind.UNKNOWN_MACHINE, driver, STRANGER)
    assert "on" in drift.detail
    assert "skerry-999999-disk-1" in drift.detail
    assert not Job.objects.filter(finished_at=None).exists()

    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert STRANGER not in driver.machines
    assert list(driver.aside) == [f"aside/{STRANGER}"]
    is_over(drift, driver)
    compare(driver)

    kept = Drift.objects.get(resolved_at=None)
    assert (kept.kind, kept.name) == (Kind.SET_ASIDE, f"aside/{STRANGER}")
    work(drift_verbs.discard(STAFF, kept), driver)
    assert driver.aside == {}
    is_over(kept, driver)


def test_a_machine_that_is_not_there_is_defined_again_and_booted_if_it_ran(driver, instance, machine):
    name = machine_name(instance.pk)
    lost = driver.machines.pop(name)
    drift = seen(Kind.MISSING_MACHINE, driver, name)
    assert drift.instance == instance
    instance.refresh_from_db()
    assert instance.status == "running"

    driver.machines[name] = {**lost, "on": False}  # its disks were put back
    job = drift_verbs.define_again(STAFF, drift)
    work(job, driver)
    instance.refresh_from_db()
    assert (instance.status, driver.machines[name]["on"]) == ("running", True)
    is_over(drift, driver)


def test_a_disk_that_nobody_knows_is_set_aside_by_staff(driver, instance, machine):
    machine["disks"]["skerry-1-disk-999999"] = DiskSpec("x", 1, "ext4")
    drift = seen(Kind.UNKNOWN_DISK, driver, "skerry-1-disk-999999")
    assert drift.instance == instance
    compare(driver)
    assert "skerry-1-disk-999999" in machine["disks"]

    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert list(driver.aside) == ["aside/skerry-1-disk-999999"]
    assert machine["on"]
    is_over(drift, driver)


def test_a_volume_that_nobody_knows_is_set_aside_by_staff_and_seen_at_one_host(world, driver, instance):
    HostFactory(region=world.region)
    driver.volumes["skerry-volume-999999"] = VolumeSpec("skerry-volume-999999", "us-test", 20, "nvme")
    drift = seen(Kind.UNKNOWN_VOLUME, driver, "skerry-volume-999999")
    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert driver.volumes == {}
    is_over(drift, driver)
    assert Drift.objects.get(resolved_at=None).kind == Kind.SET_ASIDE


def test_a_machine_that_is_on_while_its_row_says_off_makes_the_row_right(world, driver):
    instance = deployed(world, driver, running=False)
    driver.machines[machine_name(instance.pk)]["on"] = True
    drift = seen(Kind.WRONG_POWER, driver, machine_name(instance.pk))
    instance.refresh_from_db()
    assert instance.status == "running"
    assert driver.machines[machine_name(instance.pk)]["on"], "nothing that a customer may use is powered off"
    assert Event.objects.filter(action="compute_boot", message=drift_verbs.FOUND_ON).count() == 1
    assert drift.resolved_at is not None
    assert compare(driver) == 0


def test_a_machine_on_another_host_is_where_the_row_is_pointed_to(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    name = machine_name(instance.pk)
    assert set(Drift.objects.values_list("kind", "name", "host")) == {
        (Kind.MISSING_MACHINE, name, instance.host_id), (Kind.WRONG_HOST, name, other.pk),
    }  # fmt: skip
    drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))
    instance.refresh_from_db()
    assert instance.host == other
    assert list(instance.reservations.values_list("host", flat=True)) == [other.pk]
    assert driver.machines[name]["on"]
    compare(driver)
    assert not Drift.objects.filter(resolved_at=None).exists()


class Both:
    """Two hosts that each have a machine of the same name."""

    def __init__(self, first: MemoryDriver, other: MemoryDriver, host: Host):
        self.drivers = first, other
        self.name = str(host.uuid)

    def at(self, address: Address) -> MemoryDriver:
        return self.drivers[address.name == self.name].at(address)


@pytest.mark.parametrize("on", [True, False])
def test_a_machine_on_two_hosts_is_set_aside_where_the_row_does_not_say_unless_it_is_on(
    world, driver, instance, machine, on
):
    other, elsewhere = HostFactory(region=world.region), MemoryDriver()
    name = machine_name(instance.pk)
    elsewhere.machines[name] = {**machine, "on": on, "plugged": {}, "host": str(other.uuid)}
    both = Both(driver, elsewhere, other)
    drift = seen(Kind.WRONG_HOST, both, name)
    assert drift.host == other
    job = work(drift_verbs.set_aside(STAFF, drift), both)
    assert (job.state, set(elsewhere.aside)) == (("failed", set()) if on else ("done", {f"aside/{name}"}))
    assert machine["on"]
    assert driver.aside == {}


def test_the_only_one_of_a_machine_is_not_set_aside(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    drift = Drift.objects.get(kind=Kind.WRONG_HOST)
    with pytest.raises(Invalid, match="the only one"):
        drift_verbs.set_aside(STAFF, drift)
    Drift.objects.filter(kind=Kind.MISSING_MACHINE).update(resolved_at=Now())
    machine["on"] = False
    assert work(drift_verbs.set_aside(STAFF, drift), driver).state == "failed"
    assert driver.aside == {}


def test_a_row_is_not_pointed_away_from_a_host_that_may_have_the_machine(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver, other)
    compare(driver, other)
    with pytest.raises(Invalid, match="may also have the machine"):
        drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))


def test_a_row_is_not_pointed_to_a_host_without_room(world, driver, instance, machine):
    other = HostFactory(region=world.region, memory=1)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    with pytest.raises(Invalid, match="no room"):
        drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))


def test_the_empty_shell_of_a_machine_that_moved_is_removed(world, driver, instance, machine):
    """The memory driver has one machine for each name, so the other host's machine is reported by a driver of
    its own."""
    other = HostFactory(region=world.region)
    elsewhere = MemoryDriver()
    elsewhere.machines[machine_name(instance.pk)] = {
        **machine, "on": False, "disks": {}, "plugged": {}, "host": str(other.uuid),
    }  # fmt: skip
    compare(elsewhere, other)
    assert not Job.objects.filter(finished_at=None).exists(), "it was seen once"
    compare(elsewhere, other)
    work(unfinished(), elsewhere)
    assert elsewhere.machines == {}
    assert machine["disks"], "the machine itself stays"
    compare(elsewhere, other)
    assert not Drift.objects.filter(resolved_at=None).exists()


def test_a_machine_of_the_wrong_size_is_defined_again_and_stays_on(driver, instance, machine):
    machine["memory"] = 1
    drift = seen(Kind.WRONG_SIZE, driver, machine_name(instance.pk))
    work(drift_verbs.define_again(STAFF, drift), driver)
    assert (machine["memory"], machine["on"]) == (instance.type.memory, True)
    instance.refresh_from_db()
    assert instance.status == "running"
    is_over(drift, driver)


def test_a_machine_that_is_on_and_lost_its_definition_gets_it_back(driver, instance, machine):
    machine["memory"] = machine["vcpus"] = None
    drift = seen(Kind.WRONG_SIZE, driver, machine_name(instance.pk))
    assert "not defined any more" in drift.detail
    work(drift_verbs.define_again(STAFF, drift), driver)
    is_over(drift, driver)
    assert machine["on"]


def test_disks_of_one_name_in_two_machines_are_one_drift_after_the_other(world, driver, instance, machine):
    other = driver.machines[machine_name(deployed(world, driver, label="other").pk)]
    for each in (machine, other):
        each["disks"]["skerry-0-disk-0"] = DiskSpec("x", 1, "ext4")
    work(drift_verbs.set_aside(STAFF, seen(Kind.UNKNOWN_DISK, driver, "skerry-0-disk-0")), driver)
    compare(driver)
    drift = Drift.objects.get(kind=Kind.UNKNOWN_DISK, resolved_at=None)
    assert drift.seen == 1
    compare(driver)
    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert "skerry-0-disk-0" not in {**machine["disks"], **other["disks"]}


def test_a_leftover_older_than_every_live_job_is_removed(world, driver, instance):
    host = str(instance.host.uuid)
    driver.leftovers[host] = [Leftover("incoming/old.part", age=7200.0)]
    Job.objects.update(created=Now() - timedelta(days=1))
    busy = enqueue("reboot", instance, world.actor, data=boot_data(instance))
    Job.objects.filter(pk=busy.pk).update(created=Now() - timedelta(hours=3))
    compare(driver)
    assert not Drift.objects.exists(), "the job may have begun it"

    work(busy, driver)
    drift = seen(Kind.LEFTOVER, driver, "incoming/old.part")
    work(unfinished(), driver)
    assert driver.leftovers[host] == []
    is_over(drift, driver)


def test_a_machine_that_a_row_knows_by_now_is_not_set_aside(world, driver, instance, machine):
    driver.machines[STRANGER] = {**machine}
    drift = seen(Kind.UNKNOWN_MACHINE, driver, STRANGER)
    job = drift_verbs.set_aside(STAFF, drift)
    with pytest.raises(Busy):
        drift_verbs.set_aside(STAFF, drift)
    Instance.objects.filter(pk=instance.pk).update(label="else")
    known = Instance.objects.get(pk=instance.pk)
    known.pk, known.label = 999999, "known"
    known.save(force_insert=True)
    assert work(job, driver).state == Job.State.FAILED
    assert driver.machines[STRANGER]["on"]
