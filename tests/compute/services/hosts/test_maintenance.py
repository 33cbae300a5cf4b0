"""Maintenance of a host: its instances are stopped, stay off, and are booted again. A busy instance waits its
turn."""

import pytest

from accounts.actors import Actor
from accounts.models import Event
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job
from compute.services.hosts import maintenance, moves
from compute.services.instances import power
from config.errors import Invalid
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed
from tests.factories import HostFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db


def finish_all(driver: MemoryDriver) -> None:
    maintenance.keep_up()
    for job in Job.objects.filter(finished_at=None).order_by("pk"):
        work(job, driver)


def status(instance: Instance) -> str:
    return Instance.objects.values_list("status", flat=True).get(pk=instance.pk)


@pytest.fixture
def running(world, driver) -> Instance:
    return deployed(world, driver, label="running")


def test_running_instances_are_stopped_and_booted_again(world, driver, running):
    off = deployed(world, driver, running=False, label="off")

    assert maintenance.begin(world.host) == 1
    finish_all(driver)
    assert (status(running), status(off)) == ("stopped", "offline")
    assert not driver.machines[machine_name(running.pk)]["on"]
    event = Event.objects.get(action="host_reboot")
    assert (event.status, event.username, event.entity_id) == ("finished", "", running.pk)
    assert maintenance.keep_up() == 0, "it stays so"

    assert maintenance.end(world.host) == 1
    finish_all(driver)
    assert (status(running), status(off)) == ("running", "offline")
    assert driver.machines[machine_name(running.pk)]["on"]


def test_an_instance_moved_during_maintenance_ends_running(world, driver, running):
    maintenance.begin(world.host)
    finish_all(driver)
    HostMigrationFactory(instance=running)
    HostFactory(region=world.region)

    moves.migrate(world.actor, Instance.objects.get(pk=running.pk))
    finish_all(driver)
    assert status(running) == "stopped", "it has arrived"
    finish_all(driver)

    assert status(running) == "running"
    assert Host.objects.get(instances=running) != world.host
    boot = Event.objects.filter(action="compute_boot").latest("pk")
    assert (boot.username, boot.message) == ("", maintenance.MESSAGES["boot"])


def test_a_busy_instance_waits(world, driver, running):
    job = power.reboot(world.actor, running)
    assert maintenance.begin(world.host) == 0
    assert maintenance.keep_up() == 0, "it is busy"
    work(job, driver)
    assert maintenance.keep_up() == 1
    assert maintenance.end(world.host) == 0
    assert maintenance.keep_up() == 0, "it is still being stopped"
    work(Job.objects.get(finished_at=None), driver)
    assert status(running) == "stopped"
    finish_all(driver)
    assert status(running) == "running"


def test_only_the_host_in_maintenance_is_concerned(world, driver, running):
    assert maintenance.begin(HostFactory(region=world.region)) == 0
    assert maintenance.keep_up() == 0
    assert status(running) == "running"


def test_nobody_boots_meanwhile(world, driver, running):
    maintenance.begin(world.host)
    finish_all(driver)
    with pytest.raises(Invalid, match="under maintenance"):
        power.boot(world.actor, Instance.objects.get(pk=running.pk))
    assert status(running) == "stopped"


def test_an_instance_that_a_customer_shuts_down_meanwhile_stays_off(world, driver, running):
    maintenance.begin(world.host)
    finish_all(driver)
    power.shutdown(world.actor, running)
    maintenance.end(world.host)

    assert maintenance.keep_up() == 0
    assert status(running) == "offline"


def test_a_shutdown_just_before_the_boot_after_maintenance_wins(world, driver, running, monkeypatch):
    maintenance.begin(world.host)
    finish_all(driver)
    maintenance.end(world.host)
    boot_config = maintenance.boot_config
    platform = Actor.platform

    def shut_down_first(account_id):
        power.shutdown(world.actor, running)
        return platform(account_id)

    monkeypatch.setattr(maintenance.Actor, "platform", shut_down_first)
    assert maintenance.keep_up() == 0
    assert status(running) == "offline"
    assert boot_config(running), "it could have been booted"


def test_the_watchdog_leaves_it_off(world, driver, running):
    Host.objects.filter(pk=world.host.pk).update(maintenance="2026-01-01T00:00:00Z")
    driver.machines[machine_name(running.pk)]["on"] = False
    assert watch(driver) == 1
    assert status(running) == "offline"
    assert not Job.objects.filter(finished_at=None).exists()


def test_no_instance_is_made_on_it(world):
    maintenance.begin(world.host)
    with pytest.raises(Invalid, match="No host"):
        world.create()


def test_an_instance_without_a_system_does_not_delay_the_others(world, driver, running):
    other = deployed(world, driver, label="other")
    maintenance.begin(world.host)
    finish_all(driver)
    running.configs.all().delete()
    assert maintenance.end(world.host) == 2
    finish_all(driver)
    assert (status(running), status(other)) == ("stopped", "running")


def test_each_begins_and_ends_once(world):
    maintenance.begin(world.host)
    with pytest.raises(Invalid, match="in maintenance already"):
        maintenance.begin(world.host)
    maintenance.end(world.host)
    with pytest.raises(Invalid, match="not in maintenance"):
        maintenance.end(world.host)
