"""The watchdog: the instances that it boots again, and when it gives up."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from accounts.models import Event
from compute.machine_names import machine_name
from compute.models import Instance, Job
from compute.services.hosts import drift_records, registry
from compute.services.images.images import create_from_disk
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed
from tests.racing import held_up

pytestmark = pytest.mark.django_db


def fall(driver: MemoryDriver, instance: Instance) -> None:
    """Let the guest power itself off."""
    driver.fall(machine_name(instance.pk))


def restart_ended(driver: MemoryDriver) -> int:
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    return watch(driver)


@pytest.fixture
def instance(world, driver) -> Instance:
    return deployed(world, driver)


def test_it_boots_six_times_in_fifteen_minutes_and_then_leaves_it_off(instance, driver):
    for number in range(6):
        fall(driver, instance)
        assert restart_ended(driver) == 1
        work(Job.objects.get(finished_at=None), driver)
        assert Event.objects.filter(action="lassie_reboot").count() == number + 1

    fall(driver, instance)
    assert restart_ended(driver) == 1

    assert not Job.objects.filter(finished_at=None).exists()
    instance.refresh_from_db()
    assert instance.status == "offline"
    assert {event.message for event in Event.objects.filter(action="lassie_reboot")} == {
        "The compute powered itself off. The watchdog boots it."
    }
    assert Event.objects.get(action="compute_shutdown").message == (
        "The compute powered itself off. "
        "The watchdog does not boot it again: it was booted more than 5 times within 15 minutes."
    )


def test_boots_that_are_longer_ago_do_not_count(instance, driver):
    for _ in range(6):
        fall(driver, instance)
        restart_ended(driver)
        work(Job.objects.get(finished_at=None), driver)
    Job.objects.filter(kind="boot").update(created=Now() - timedelta(minutes=16))

    fall(driver, instance)
    restart_ended(driver)

    assert Job.objects.get(finished_at=None).kind == "boot"


def test_where_it_is_off_it_only_tells(instance, driver):
    Instance.objects.update(watchdog_enabled=False)
    fall(driver, instance)
    assert restart_ended(driver) == 1
    assert not Job.objects.filter(finished_at=None).exists()
    assert Event.objects.filter(action="compute_shutdown").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_job_that_comes_in_the_same_moment_does_not_keep_it_from_the_others(world, driver):
    """The job does not change the status. Once the instance is free again, only the jobs show what happened."""
    busy, other = deployed(world, driver, label="busy"), deployed(world, driver, label="other")
    for instance in (busy, other):
        fall(driver, instance)
    found = []

    def bark() -> None:
        try:
            found.append(watch(driver))
        finally:
            connection.close()

    dog = threading.Thread(target=bark)
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    with transaction.atomic():
        create_from_disk(world.actor, busy.disks.earliest("pk").pk, label=None, description=None)
        dog.start()
        assert held_up()
    dog.join()

    assert found == [1]
    statuses = dict(Instance.objects.values_list("label", "status"))
    assert statuses == {"busy": "running", "other": "booting"}


def test_a_host_that_is_just_being_added_is_not_asked(world, driver):
    added = registry.add(registry.HostSpec("hv9", world.region.pk, "simulated"))
    asked = []

    class Asked:
        def at(self, address):
            asked.append(address.name)
            return driver.at(address)

    watch(Asked())
    assert asked == [str(world.host.uuid)]
    assert drift_records.due() == [world.host.pk]

    registry.record(added, {"memory": 1024}, None)
    watch(Asked())
    assert asked[1:] == [str(world.host.uuid), str(added.uuid)]
    assert drift_records.due() == [world.host.pk, added.pk]
