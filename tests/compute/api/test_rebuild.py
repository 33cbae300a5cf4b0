"""The API of rebuilds: what is deleted, what is created, and what a failure leaves."""

import pytest

from accounts.models import Event, GlobalGrants, Grant, User
from compute.drivers.base import DriverError, Refused
from compute.machine_names import disk_name, machine_name
from compute.models import Config, Disk, Host, Image, Instance, Job
from tests.client import errors
from tests.compute.memory_driver import PARTITIONED, MemoryDriver
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import deployed
from tests.compute.worker.soundness import assert_instance_sound
from tests.factories import ConfigFactory, DiskFactory, ImageFactory, StackScriptFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
NEW = "another-horse-9-staple"


@pytest.fixture
def other(db) -> Image:
    """Another image than that of the instances."""
    return ImageFactory(id="compute/other12", label="Other 12")


@pytest.fixture
def off(world, driver) -> Instance:
    return deployed(world, driver, running=False, label="old-one")


def ask(api, instance: Instance, **body):
    body = {"image": "compute/other12", "root_pass": NEW, **body}
    return api.post(
        f"{INSTANCES}/{instance.pk}/rebuild", {name: value for name, value in body.items() if value != ""}
    )


def failing(driver: MemoryDriver, call: str, nth: int, times: int, error: Exception | None = None) -> None:
    """Make the nth call of this name from now on fail, and the calls after it, `times` in all."""
    calls = iter(range(1, nth + times))

    def hook(number: int, name: str) -> None:
        if name == call and next(calls, 0) >= nth:
            raise error or DriverError("The host does not answer.")

    driver.before = hook


def shown(api, instance: Instance) -> list[tuple]:
    disks = api.get(f"{INSTANCES}/{instance.pk}/disks").json()["data"]
    return [(disk["label"], disk["size"], disk["filesystem"], disk["status"]) for disk in disks]


OLD = [("Test 11 Disk", 25088, "ext4", "ready"), ("512MB Swap Image", 512, "swap", "ready")]
FRESH = [("Other 12 Disk", 25088, "ext4", "ready"), ("512MB Swap Image", 512, "swap", "ready")]


@pytest.mark.parametrize(("booted", "status"), [(True, "running"), (False, "offline")])
@pytest.mark.parametrize("before", ["running", "off"])
def test_all_that_was_there_goes_and_an_image_is_deployed(booted, status, before, api, other, driver, request):
    instance = request.getfixturevalue(before)
    DiskFactory(instance=instance, size=1, status="not ready", label="half-made")
    ConfigFactory(instance=instance, disk=instance.disks.earliest("pk"))
    old = set(instance.disks.values_list("pk", flat=True))

    response = ask(api, instance, booted=booted)

    assert response.status_code == 200
    assert (response.json()["status"], response.json()["image"]) == ("rebuilding", "compute/other12")
    assert response.json()["ipv4"] == instance.ipv4
    assert {status for *_, status in shown(api, instance)} == {"deleting"}
    event = Event.objects.get(action="compute_rebuild")
    assert (event.status, event.entity_id, event.secondary_id) == ("scheduled", instance.pk, "compute/other12")
    assert finish(instance, driver).state == "done"
    assert (instance.status, instance.image) == (status, other)
    assert shown(api, instance) == FRESH
    assert not old & set(instance.disks.values_list("pk", flat=True))
    config = instance.configs.get()
    assert (config.label, config.kernel_id) == ("My Other 12 Disk Profile", "compute/grub2")
    assert list(config.devices.values_list("slot", flat=True)) == ["sda", "sdb"]
    assert instance.booted_config == (config if booted else None)
    assert Event.objects.get(action="compute_rebuild").status == "finished"
    assert_instance_sound(instance, driver)


def test_an_image_with_partitions_costs_no_disk_and_its_event_says_why(api, running, driver, world):
    ImageFactory(id="private/70", number=70, size=1300, account=world.account, is_public=False)
    driver.archives["skerry-image-70"] = 1300
    driver.partitioned.add("skerry-image-70")
    assert ask(api, running, image="private/70").status_code == 200
    assert finish(running, driver).state != "done"
    assert (running.status, shown(api, running)) == ("running", OLD)
    event = Event.objects.get(action="compute_rebuild")
    assert (event.status, event.message) == ("failed", PARTITIONED)
    assert_instance_sound(running, driver)


def test_the_disks_never_take_more_than_the_type_has(api, other, running, driver):
    """Between any two calls of the hypervisor, both in our tables and in the hypervisor."""
    machine = machine_name(running.pk)
    sums = []

    def check_machine(number: int, name: str) -> None:
        sums.append(sum(running.disks.values_list("size", flat=True)))
        sums.append(sum(disk.size for disk in driver.machines[machine]["disks"].values()))

    ask(api, running)
    driver.before = driver.after = check_machine
    finish(running, driver)
    assert max(sums) == running.type.disk


def test_the_new_disk_has_password_keys_and_script(api, other, off, driver, world):
    script = StackScriptFactory(account=world.account, script="#!/bin/sh\n# <UDF name='motd' label='It'/>\n")
    ask(api, off, stackscript_id=script.pk, stackscript_data={"motd": "hello"})
    job = Job.objects.values().latest("pk")
    assert NEW not in str({**job, "encrypted": bytes(job["encrypted"])})
    finish(off, driver)
    disk = off.disks.get(filesystem="ext4")
    found = driver.machines[machine_name(off.pk)]["disks"][disk_name(off.pk, disk.pk)]
    assert (found.image, found.root_password) == ("compute/other12", NEW)
    assert "MOTD=hello" in found.script
    assert disk.stackscript == script
    script.refresh_from_db()
    assert script.deployments_total == 1


def test_an_empty_instance_gets_disks_and_a_profile(api, other, world, driver):
    instance = deployed(world, driver, image=None)
    ask(api, instance)
    assert finish(instance, driver).state == "done"
    assert (instance.status, shown(api, instance)) == ("running", FRESH)


def test_it_tells_of_its_boot_as_a_create_does(api, other, off, driver):
    ask(api, off)
    finish(off, driver)
    actions = Event.objects.filter(entity_id=off.pk).order_by("-pk").values_list("action", "status")
    assert list(actions[:2]) == [("compute_boot", "finished"), ("compute_rebuild", "finished")]


# --- what fails ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["stop", "delete_disk"])
def test_a_failure_before_the_first_disk_is_deleted_leaves_all_as_it_was(
    call, api, other, running, driver, settings
):
    config = running.configs.get()
    ask(api, running)
    failing(driver, call, 1, settings.JOB_ATTEMPTS + 1)

    assert finish(running, driver).state == "failed"

    assert (running.status, running.image_id) == ("running", "compute/test11")
    assert shown(api, running) == OLD
    assert list(running.configs.all()) == [config]
    assert running.booted_config == config
    assert_instance_sound(running, driver)
    event = Event.objects.get(action="compute_rebuild")
    assert (event.status, event.message) == ("failed", "The host does not answer.")


def test_a_failure_between_two_disks_leaves_the_remaining_disks(api, other, running, driver, settings):
    ask(api, running)
    failing(driver, "delete_disk", 2, settings.JOB_ATTEMPTS + 1)
    assert finish(running, driver).state == "failed"
    assert running.status == "offline", "what boots is not there any more"
    assert shown(api, running) == OLD[1:]
    assert list(running.configs.get().devices.values_list("slot", flat=True)) == ["sdb"]
    assert_instance_sound(running, driver)


@pytest.mark.parametrize("nth", [1, 2])
def test_a_failure_of_a_new_disk_leaves_none(nth, api, other, running, driver):
    ask(api, running)
    failing(driver, "create_disk", nth, 1, Refused("Not possible."))
    assert finish(running, driver).state == "failed"
    assert (running.status, running.image, shown(api, running)) == ("offline", None, [])
    assert not running.configs.exists()
    assert_instance_sound(running, driver)

    ask(api, running)
    assert finish(running, driver).state == "done", "it can be tried again"
    assert (running.status, shown(api, running)) == ("running", FRESH)


def test_a_failure_of_the_boot_leaves_the_new_disks(api, other, running, driver):
    ask(api, running)
    failing(driver, "start", 1, 1, Refused("Not possible."))
    assert finish(running, driver).state == "failed"
    assert (running.status, running.image, shown(api, running)) == ("offline", other, FRESH)
    assert Event.objects.get(action="compute_rebuild").status == "finished"
    assert Event.objects.filter(action="compute_boot").latest("pk").status == "failed"


def test_an_instance_stopped_by_maintenance_still_waits_after_a_failed_rebuild(api, other, off, driver, settings):
    Instance.objects.filter(pk=off.pk).update(status="stopped")
    ask(api, off)
    failing(driver, "delete_disk", 1, settings.JOB_ATTEMPTS + 1)
    finish(off, driver)
    assert (off.status, shown(api, off)) == ("stopped", OLD)


def test_a_deletion_ends_it(api, other, running, driver):
    ask(api, running)
    job = running.jobs.get(finished_at=None)
    assert api.delete(f"{INSTANCES}/{running.pk}").status_code == 200
    assert work(job, driver).state == "failed"
    assert not running.disks.exclude(status="ready").exists()
    work(Job.objects.get(kind="delete"), driver)
    assert not Instance.objects.filter(pk=running.pk).exists()
    assert not Disk.objects.filter(instance_id=running.pk).exists()
    assert driver.machines == {}


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"image": ""}, {"image"}),
        ({"root_pass": ""}, {"root_pass"}),
        ({"image": "", "root_pass": ""}, {"image", "root_pass"}),
        ({"image": "compute/nope"}, {"image"}),
        ({"image": 12}, {"image"}),
        ({"root_pass": "password"}, {"root_pass"}),
        ({"root_pass": "short"}, {"root_pass"}),
        ({"booted": "yes"}, {"booted"}),
        ({"authorized_keys": ["no key"]}, {"authorized_keys[0]"}),
        ({"authorized_users": ["nobody"]}, {"authorized_users[0]"}),
        ({"stackscript_id": 12345}, {"stackscript_id"}),
    ],
)
def test_a_body_that_is_wrong_names_the_fields_and_changes_nothing(body, fields, api, other, running):
    assert set(errors(ask(api, running, **body))) == fields
    running.refresh_from_db()
    assert (running.status, shown(api, running)) == ("running", OLD)
    assert not Event.objects.filter(action="compute_rebuild").exists()


def test_an_image_that_does_not_fit_is_refused(api, other, running):
    Image.objects.filter(pk=other.pk).update(size=25089)
    assert "25089 MB" in errors(ask(api, running))["image"]


def test_an_instance_in_maintenance_is_rebuilt_without_a_boot(api, other, off, driver):
    Host.objects.filter(pk=off.host_id).update(maintenance="2020-01-01T00:00:00Z")
    assert "maintenance" in errors(ask(api, off))[None]
    ask(api, off, booted=False)
    assert finish(off, driver).state == "done"


def test_an_image_of_ones_own_stays_while_it_is_rebuilt_from(api, off, driver, world):
    ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    ask(api, off, image="private/70")
    assert errors(api.delete("/v4/images/private/70")) == {None: "A disk is being deployed from this image."}
    assert Image.objects.get(number=70).status == "available"


def test_a_private_image_needs_a_grant(client_for, off, world):
    ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    user = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    GlobalGrants.objects.create(user=user)
    Grant.objects.create(user=user, entity_type="compute", entity_id=off.pk, permissions="read_write")
    assert errors(ask(client_for(user), off, image="private/70")) == {"image": "image is not valid"}
    Grant.objects.create(user=user, entity_type="image", entity_id=70, permissions="read_only")
    assert ask(client_for(user), off, image="private/70").status_code == 200


def test_nothing_of_the_new_is_there_while_the_old_is(api, other, running):
    config = running.configs.get()
    ask(api, running)
    assert list(Config.objects.filter(instance=running)) == [config]
    assert running.disks.count() == 2
