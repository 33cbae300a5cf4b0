"""Resetting the root password of an instance and of one disk."""

import pytest

from accounts.models import Event
from compute.drivers.base import DriverError
from compute.machine_names import disk_name, machine_name
from compute.models import Disk, Instance, Job
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed, with_disk
from tests.factories import DiskFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
NEW = "another-horse-9-staple"
WEAK = "Password does not meet strength requirement"


@pytest.fixture
def instance(world, driver) -> Instance:
    """An instance that is off, with a disk deployed from the image and a swap disk."""
    return deployed(world, driver, running=False, label="forgetful")


def of(instance: Instance) -> str:
    return f"{INSTANCES}/{instance.pk}/password"


def of_disk(disk: Disk) -> str:
    return f"{INSTANCES}/{disk.instance_id}/disks/{disk.pk}/password"


def password(disk: Disk, driver) -> str | None:
    disks = driver.machines[machine_name(disk.instance_id)]["disks"]
    return disks[disk_name(disk.instance_id, disk.pk)].root_password


def finish(instance: Instance, driver) -> Job:
    return work(instance.jobs.get(finished_at=None), driver)


def test_the_password_of_an_instance_that_is_off_is_set(api, instance, driver):
    response = api.post(of(instance), {"root_pass": NEW})
    assert (response.status_code, response.json()) == (200, {})
    disk = instance.disks.get(filesystem="ext4")
    assert disk.status == "not ready"
    job = Job.objects.values().latest("pk")
    assert NEW not in str({**job, "encrypted": bytes(job["encrypted"])})

    assert finish(instance, driver).state == "done"

    assert password(disk, driver) == NEW
    disk.refresh_from_db()
    assert disk.status == "ready"
    event = Event.objects.get(action="password_reset")
    assert (event.status, event.entity_id, event.secondary_id) == ("finished", instance.pk, str(disk.pk))
    assert NEW not in str(Event.objects.values())


def test_the_password_of_one_of_several_disks_is_set(api, world, driver):
    disk = with_disk(world, driver)
    other = DiskFactory(instance=disk.instance, filesystem="raw")
    assert "disks/{diskId}/password" in errors(api.post(of(disk.instance), {"root_pass": NEW}))[None]
    assert api.post(of_disk(disk), {"password": NEW}).json() == {}
    finish(disk.instance, driver)
    assert password(disk, driver) == NEW
    other.refresh_from_db()
    assert other.status == "ready"


def test_without_a_disk_there_is_no_password(api, world, driver):
    instance = deployed(world, driver, image=None)
    DiskFactory(instance=instance, filesystem="swap")
    assert "no disk" in errors(api.post(of(instance), {"root_pass": NEW}))[None]


def test_an_instance_that_runs_is_refused(api, world, driver):
    instance = deployed(world, driver)
    reason = "Cannot reset a password of a compute that is running."
    assert errors(api.post(of(instance), {"root_pass": NEW})) == {None: reason}
    disk = instance.disks.get(filesystem="ext4")
    assert errors(api.post(of_disk(disk), {"password": NEW})) == {None: reason}
    disk.refresh_from_db()
    assert disk.status == "ready"


@pytest.mark.parametrize("given", ["password", "short", "", "x" * 12])
def test_a_weak_password_is_refused(given, api, instance):
    found = errors(api.post(of(instance), {"root_pass": given}))
    assert set(found) == {"root_pass"}
    disk = instance.disks.get(filesystem="ext4")
    assert set(errors(api.post(of_disk(disk), {"password": given}))) == {"password"}
    if given:
        assert found["root_pass"] == WEAK


def test_a_password_of_more_than_128_characters_is_refused(api, instance):
    long = NEW * 6
    assert errors(api.post(of(instance), {"root_pass": long})) == {
        "root_pass": "Length must be at most 128 characters"
    }
    disk = instance.disks.get(filesystem="ext4")
    assert set(errors(api.post(of_disk(disk), {"password": long}))) == {"password"}


@pytest.mark.parametrize("body", [{}, {"root_pass": None}, {"root_pass": 12345678}, {"password": NEW}])
def test_a_password_has_to_be_given(body, api, instance):
    assert set(errors(api.post(of(instance), body))) == {"root_pass"}


def test_a_disk_without_a_system_fails_and_is_ready_again(api, instance, driver):
    swap = instance.disks.get(filesystem="swap")
    api.post(of_disk(swap), {"password": NEW})
    assert finish(instance, driver).state == "failed"
    swap.refresh_from_db()
    assert swap.status == "ready"
    assert Event.objects.get(action="password_reset").status == "failed"


def test_a_failure_leaves_the_disk_ready(api, instance, driver):
    api.post(of(instance), {"root_pass": NEW})
    driver.before = failing_at(len(driver.calls), DriverError("The host does not answer."))
    assert finish(instance, driver).state == "failed"
    assert not instance.disks.exclude(status="ready").exists()
    instance.refresh_from_db()
    assert instance.status == "offline"


def test_a_disk_that_is_not_ready_is_refused(api, world, driver):
    disk = with_disk(world, driver)
    Disk.objects.filter(pk=disk.pk).update(status="not ready")
    assert errors(api.post(of_disk(disk), {"password": NEW})) == {None: "The disk is not ready."}
    assert errors(api.post(of(disk.instance), {"root_pass": NEW})) == {None: "The disk is not ready."}
