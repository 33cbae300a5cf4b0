"""The disks of an instance in the API: create, change, resize, clone and delete."""

import pytest

from accounts.models import Event, SSHKey
from compute.drivers.base import DriverError, Refused
from compute.machine_names import disk_name, machine_name
from compute.models import Disk, Image, Instance, Job
from tests.client import errors
from tests.compute.memory_driver import PARTITIONED, MemoryDriver, failing_at
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import deployed, with_disk
from tests.factories import ConfigFactory, DiskFactory, ImageFactory, StackScriptFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBG0y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2 somebody@laptop"


@pytest.fixture
def empty(world, driver) -> Instance:
    """An instance that is off and has no disks. Its type has 25600 MB."""
    return deployed(world, driver, image=None, label="empty")


@pytest.fixture
def disk(world, driver) -> Disk:
    """A disk of 5000 MB deployed from the image, the only disk of an instance that is off."""
    return with_disk(world, driver)


def disks_of(instance: Instance) -> str:
    return f"{INSTANCES}/{instance.pk}/disks"


def at(disk: Disk, verb: str = "") -> str:
    return f"{disks_of(disk.instance)}/{disk.pk}{verb and '/'}{verb}"


def there(disk: Disk, driver: MemoryDriver):
    """Return the hypervisor's record of the disk."""
    return driver.machines[machine_name(disk.instance_id)]["disks"].get(disk_name(disk.instance_id, disk.pk))


def event_of(action: str) -> tuple:
    event = Event.objects.get(action=action)
    return event.status, event.entity_type, event.entity_id, event.secondary_type, event.secondary_id


# --- making one ------------------------------------------------------------------------------------------


def test_an_empty_disk_is_not_ready_and_then_ready(api, empty, driver):
    response = api.post(disks_of(empty), {"size": 2000})
    made = response.json()
    assert response.status_code == 200
    assert made == {
        "id": made["id"], "label": "2000MB Disk", "status": "not ready", "size": 2000, "filesystem": "ext4",
        "created": made["created"], "updated": made["updated"],
    }  # fmt: skip
    disk = Disk.objects.get(pk=made["id"])
    assert event_of("disk_create") == ("scheduled", "compute", empty.pk, "disk", str(disk.pk))

    assert finish(empty, driver).state == "done"

    assert api.get(at(disk)).json()["status"] == "ready"
    assert there(disk, driver).size == 2000
    assert empty.status == "offline"
    assert event_of("disk_create")[0] == "finished"


@pytest.mark.parametrize("filesystem", ["raw", "swap", "ext3", "ext4", "initrd"])
def test_an_empty_disk_has_the_filesystem_asked_for(filesystem, api, empty, driver):
    made = api.post(disks_of(empty), {"size": 300, "label": "mine", "filesystem": filesystem}).json()
    assert (made["label"], made["filesystem"]) == ("mine", filesystem)
    finish(empty, driver)
    assert there(Disk.objects.get(pk=made["id"]), driver).filesystem == filesystem


def test_a_disk_is_deployed_from_an_image_with_password_keys_and_script(api, empty, driver, owner):
    SSHKey.objects.create(user=owner, label="laptop", ssh_key=f"{KEY}2")
    script = StackScriptFactory(account=empty.account, script="#!/bin/sh\n# <UDF name='motd' label='It'/>\n")
    body = {
        "size": 5000, "image": "compute/test11", "root_pass": STRONG, "authorized_keys": [KEY],
        "authorized_users": [owner.username], "stackscript_id": script.pk, "stackscript_data": {"motd": "hello"},
    }  # fmt: skip
    made = api.post(disks_of(empty), body).json()
    assert (made["label"], made["filesystem"]) == ("Test 11 Disk", "ext4")
    assert STRONG not in str(Job.objects.values().latest("pk"))

    finish(empty, driver)

    disk = Disk.objects.get(pk=made["id"])
    found = there(disk, driver)
    assert (found.image, found.root_password) == ("compute/test11", STRONG)
    assert found.authorized_keys == (KEY, f"{KEY}2")
    assert "MOTD=hello" in found.script
    assert disk.stackscript == script
    script.refresh_from_db()
    assert script.deployments_total == 1


def test_a_disk_is_deployed_from_an_image_of_ones_own(api, empty, driver, world):
    ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    driver.archives["skerry-image-70"] = 1300
    made = api.post(disks_of(empty), {"size": 5000, "image": "private/70", "root_pass": STRONG}).json()
    assert finish(empty, driver).state == "done"
    assert there(Disk.objects.get(pk=made["id"]), driver).image == "skerry-image-70"


def test_no_disk_is_deployed_from_an_image_with_partitions(api, empty, driver, world):
    ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    driver.archives["skerry-image-70"] = 1300
    driver.partitioned.add("skerry-image-70")
    api.post(disks_of(empty), {"size": 5000, "image": "private/70", "root_pass": STRONG})
    assert finish(empty, driver).state != "done"
    assert not empty.disks.exists()
    event = Event.objects.get(action="disk_create")
    assert (event.status, event.message) == ("failed", PARTITIONED)


def test_all_errors_of_a_disk_are_reported_together(api, empty):
    body = {
        "size": 25601, "image": "compute/test11", "filesystem": "swap", "root_pass": "password",
        "authorized_keys": ["no key"], "authorized_users": ["nobody"], "stackscript_id": 12345,
    }  # fmt: skip
    found = errors(api.post(disks_of(empty), body))
    assert set(found) == {
        "size", "filesystem", "root_pass", "authorized_keys[0]", "authorized_users[0]", "stackscript_id",
    }  # fmt: skip
    assert found["size"] == "This needs 25601 MB, and the compute has 25600 of its 25600 MB left."
    assert found["root_pass"] == "Password does not meet strength requirement"
    assert not empty.disks.exists()
    assert not empty.jobs.filter(finished_at=None).exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "size"),
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": 2**31}, "size"),
        ({"size": "1000"}, "size"),
        ({"size": 100, "filesystem": "ntfs"}, "filesystem"),
        ({"size": 100, "label": ""}, "label"),
        ({"size": 100, "label": "x" * 49}, "label"),
        ({"size": 1299, "image": "compute/test11", "root_pass": STRONG}, "size"),
        ({"size": 5000, "image": "compute/test11"}, "root_pass"),
        ({"size": 5000, "image": "compute/nope", "root_pass": STRONG}, "image"),
        ({"size": 5000, "image": "compute/test11", "root_pass": "short1"}, "root_pass"),
    ],
)
def test_a_body_that_is_wrong_names_the_field(body, field, api, empty):
    assert set(errors(api.post(disks_of(empty), body))) == {field}
    assert not empty.disks.exists()


def test_an_image_that_somebody_else_has_does_not_exist(api, empty, stranger):
    ImageFactory(id="private/71", number=71, account=stranger.account, is_public=False)
    body = {"size": 5000, "image": "private/71", "root_pass": STRONG}
    assert errors(api.post(disks_of(empty), body)) == {"image": "image is not valid"}


def test_disks_may_fill_exactly_the_rest_of_a_type(api, empty, driver):
    api.post(disks_of(empty), {"size": 25000})
    finish(empty, driver)
    assert "600 of its 25600 MB left" in errors(api.post(disks_of(empty), {"size": 601}))["size"]
    assert api.post(disks_of(empty), {"size": 600}).status_code == 200


@pytest.mark.parametrize("error", [DriverError("The host does not answer."), Refused("Not possible.")])
def test_a_disk_that_cannot_be_made_is_gone_again(error, api, empty, driver, settings):
    api.post(disks_of(empty), {"size": 2000, "image": "compute/test11", "root_pass": STRONG})
    driver.after = failing_at(len(driver.calls), error, times=settings.JOB_ATTEMPTS)

    assert finish(empty, driver).state == "failed"

    assert api.get(disks_of(empty)).json()["data"] == []
    assert not driver.disks(machine_name(empty.pk))
    assert empty.status == "offline"
    assert Event.objects.get(action="disk_create").message == str(error)


def test_an_image_that_a_disk_is_made_from_stays(api, empty, world):
    ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    api.post(disks_of(empty), {"size": 5000, "image": "private/70", "root_pass": STRONG})
    assert errors(api.delete("/v4/images/private/70")) == {None: "A disk is being deployed from this image."}
    assert Image.objects.get(number=70).status == "available"


# --- changing one ----------------------------------------------------------------------------------------


def test_label_and_filesystem_are_written_at_once(api, disk):
    response = api.put(at(disk), {"label": "data", "filesystem": "raw", "status": "deleting", "id": 1})
    assert response.json() == {**api.get(at(disk)).json(), "label": "data", "filesystem": "raw"}
    assert response.json()["id"] == disk.pk
    assert event_of("disk_update") == ("notification", "compute", disk.instance_id, "disk", str(disk.pk))
    assert not Job.objects.filter(finished_at=None).exists()


def test_a_put_of_the_answer_of_get_makes_no_event(api, disk):
    got = api.get(at(disk)).json()
    assert api.put(at(disk), got).json() == got
    assert not Event.objects.filter(action="disk_update").exists()


def test_another_size_is_a_resize(api, disk, driver):
    shown = api.put(at(disk), {"label": "data", "size": 9000}).json()
    assert (shown["label"], shown["size"], shown["status"]) == ("data", 5000, "not ready")
    finish(disk.instance, driver)
    shown = api.get(at(disk)).json()
    assert (shown["label"], shown["size"], shown["status"]) == ("data", 9000, "ready")


def test_a_size_that_cannot_be_changes_nothing_else(api, disk):
    assert set(errors(api.put(at(disk), {"label": "data", "size": 30000}))) == {"size"}
    assert api.get(at(disk)).json()["label"] == disk.label


@pytest.mark.parametrize("body", [{"label": ""}, {"label": "x" * 49}, {"filesystem": "fat"}, {"size": 0}])
def test_a_change_that_is_wrong_names_the_field(body, api, disk):
    assert set(errors(api.put(at(disk), body))) == set(body)


def test_while_a_job_lives_only_the_label_can_be_changed(api, disk):
    api.post(at(disk, "resize"), {"size": 6000})
    assert api.put(at(disk), {"label": "data"}).json()["label"] == "data"
    assert errors(api.put(at(disk), {"filesystem": "raw"})) == {None: "Compute busy."}
    assert errors(api.put(at(disk), {"size": 7000})) == {None: "Compute busy."}


# --- resizing one ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [25600, 1500])
def test_a_resize_is_shown_when_it_is_true(size, api, disk, driver):
    response = api.post(at(disk, "resize"), {"size": size})
    assert (response.status_code, response.json()) == (200, {})
    assert event_of("disk_resize") == ("scheduled", "compute", disk.instance_id, "disk", str(disk.pk))
    shown = api.get(at(disk)).json()
    assert (shown["size"], shown["status"]) == (5000, "not ready")

    assert finish(disk.instance, driver).state == "done"

    shown = api.get(at(disk)).json()
    assert (shown["size"], shown["status"]) == (size, "ready")
    assert there(disk, driver).size == size


def test_it_never_grows_beyond_the_type(api, disk):
    DiskFactory(instance=disk.instance, size=20000)
    reason = "This needs 601 MB, and the compute has 600 of its 25600 MB left."
    assert errors(api.post(at(disk, "resize"), {"size": 5601})) == {"size": reason}
    assert api.post(at(disk, "resize"), {"size": 5600}).status_code == 200


def test_a_disk_beyond_the_type_can_be_made_smaller(api, disk):
    DiskFactory(instance=disk.instance, size=30000)
    assert api.post(at(disk, "resize"), {"size": 4000}).status_code == 200


@pytest.mark.parametrize("body", [{}, {"size": 0}, {"size": 2**31}, {"size": True}, {"size": None}])
def test_a_size_that_is_none_is_refused(body, api, disk):
    assert set(errors(api.post(at(disk, "resize"), body))) == {"size"}


def test_resizing_a_disk_in_use_is_accepted_and_fails(api, running, driver):
    disk = running.disks.earliest("pk")
    assert api.post(at(disk, "resize"), {"size": 20000}).status_code == 200
    assert finish(running, driver).state == "failed"
    shown = api.get(at(disk)).json()
    assert (shown["size"], shown["status"]) == (25088, "ready")
    assert there(disk, driver).size == 25088
    assert running.status == "running"
    event = Event.objects.get(action="disk_resize")
    assert (event.status, event.message) == ("failed", "The disk is in use by a machine that is on.")


def test_an_unused_disk_of_a_running_instance_is_resized(api, running, driver):
    api.post(f"{INSTANCES}/{running.pk}/shutdown")
    finish(running, driver)
    api.post(at(running.disks.earliest("pk"), "resize"), {"size": 20000})
    finish(running, driver)
    made = api.post(disks_of(running), {"size": 1000}).json()
    finish(running, driver)
    api.post(f"{INSTANCES}/{running.pk}/boot")
    finish(running, driver)

    api.post(f"{disks_of(running)}/{made['id']}/resize", {"size": 2000})

    assert finish(running, driver).state == "done"
    assert api.get(f"{disks_of(running)}/{made['id']}").json()["size"] == 2000


def test_below_the_size_of_its_files_it_fails(api, disk, driver):
    driver.used[disk_name(disk.instance_id, disk.pk)] = 3000
    api.post(at(disk, "resize"), {"size": 2999})
    assert finish(disk.instance, driver).state == "failed"
    shown = api.get(at(disk)).json()
    assert (shown["size"], shown["status"]) == (5000, "ready")
    assert Event.objects.get(action="disk_resize").message == "The files on the disk need 3000 MB."


# --- cloning one -----------------------------------------------------------------------------------------


def test_a_clone_is_a_copy_on_the_same_instance(api, disk, driver):
    response = api.post(at(disk, "clone"))
    made = response.json()
    assert (made["label"], made["size"], made["status"]) == (f"Copy of {disk.label}", 5000, "not ready")
    copy = Disk.objects.get(pk=made["id"])
    assert event_of("disk_duplicate") == ("scheduled", "compute", disk.instance_id, "disk", str(copy.pk))

    finish(disk.instance, driver)

    assert api.get(at(copy)).json()["status"] == "ready"
    machine = machine_name(disk.instance_id)
    assert there(copy, driver).copy_of == (machine, disk_name(disk.instance_id, disk.pk))
    assert copy.image == disk.image


def test_a_clone_needs_room(api, disk):
    DiskFactory(instance=disk.instance, size=15601)
    reason = "This needs 5000 MB, and the compute has 4999 of its 25600 MB left."
    assert errors(api.post(at(disk, "clone"))) == {None: reason}


def test_a_clone_that_fails_leaves_the_original_alone(api, disk, driver):
    api.post(at(disk, "clone"))
    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    assert finish(disk.instance, driver).state == "failed"
    assert [row["id"] for row in api.get(disks_of(disk.instance)).json()["data"]] == [disk.pk]
    assert there(disk, driver)


# --- deleting one ----------------------------------------------------------------------------------------


def test_a_deleted_disk_leaves_the_profiles_that_named_it(api, disk, driver):
    config = ConfigFactory(instance=disk.instance, disk=disk)
    assert api.delete(at(disk)).json() == {}
    assert api.get(at(disk)).json()["status"] == "deleting"
    assert event_of("disk_delete") == ("scheduled", "compute", disk.instance_id, "disk", str(disk.pk))

    finish(disk.instance, driver)

    assert api.get(at(disk)).status_code == 404
    assert there(disk, driver) is None
    assert not config.devices.exists()
    assert event_of("disk_delete")[0] == "finished"


def test_a_disk_in_use_is_not_deleted(api, running):
    for disk in running.disks.all():
        assert "runs with this disk" in errors(api.delete(at(disk)))[None]
    assert not Event.objects.filter(action="disk_delete").exists()


def test_a_disk_that_was_not_deleted_is_shown_again(api, running, driver):
    """The profile was changed after the boot, so only the hypervisor knows the devices of the running machine."""
    disk = running.disks.earliest("pk")
    disk.devices.all().delete()
    assert api.delete(at(disk)).status_code == 200
    assert finish(running, driver).state == "failed"
    assert api.get(at(disk)).json()["status"] == "ready"
    assert Event.objects.get(action="disk_delete").message == "The disk is in use by a machine that is on."


def test_a_deletion_that_failed_only_after_it_was_done_is_true(api, disk, driver):
    api.delete(at(disk))
    driver.after = failing_at(len(driver.calls), DriverError("The host does not answer."))
    assert finish(disk.instance, driver).state == "failed"
    assert api.get(at(disk)).status_code == 404


# --- who, when -------------------------------------------------------------------------------------------


def test_while_a_job_lives_everything_answers_busy(api, disk):
    other = DiskFactory(instance=disk.instance)
    api.post(disks_of(disk.instance), {"size": 100})
    busy = {None: "Compute busy."}
    assert errors(api.post(disks_of(disk.instance), {"size": 100})) == busy
    assert errors(api.post(at(other, "clone"))) == busy
    assert errors(api.post(at(other, "resize"), {"size": 2000})) == busy
    assert errors(api.post(at(other, "password"), {"password": STRONG})) == busy
    assert errors(api.delete(at(other))) == busy
    assert errors(api.post(f"{INSTANCES}/{disk.instance_id}/password", {"root_pass": STRONG})) == busy
    rebuild = {"image": "compute/test11", "root_pass": STRONG}
    assert errors(api.post(f"{INSTANCES}/{disk.instance_id}/rebuild", rebuild)) == busy
    assert errors(api.post(f"{INSTANCES}/{disk.instance_id}/boot")) != {}


def test_a_disk_of_another_instance_does_not_exist(api, disk, empty):
    elsewhere = f"{disks_of(empty)}/{disk.pk}"
    assert api.get(elsewhere).status_code == 404
    assert api.put(elsewhere, {"label": "mine"}).status_code == 404
    assert api.delete(elsewhere).status_code == 404
    for verb, body in (("clone", {}), ("resize", {"size": 2000}), ("password", {"password": STRONG})):
        assert api.post(f"{elsewhere}/{verb}", body).status_code == 404


def test_a_deletion_of_the_instance_undoes_the_job_and_goes_on(api, disk, driver):
    api.post(at(disk, "resize"), {"size": 7000})
    job = disk.instance.jobs.get(finished_at=None)
    assert api.delete(f"{INSTANCES}/{disk.instance_id}").status_code == 200
    assert work(job, driver).state == "failed"
    disk.refresh_from_db()
    assert (disk.size, disk.status) == (5000, "ready")
    work(Job.objects.get(kind="delete"), driver)
    assert not Disk.objects.filter(pk=disk.pk).exists()
    assert driver.machines == {}
