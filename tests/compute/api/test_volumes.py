"""Volumes as a client sees them: making, attaching, detaching, growing, cloning and deleting one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from accounts.models import Event, Grant, User
from compute.drivers.base import DriverError, Progress, Refused, VolumeSpec
from compute.machine_names import machine_name
from compute.models import Host, Instance, InstanceType, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.instances import instances, power, rebuild
from compute.services.instances.rebuild import RebuildSpec
from compute.services.volumes import attachments
from compute.worker import engine
from regions.models import Region
from tags.models import Tagging
from tests.client import errors, wrong_fields
from tests.compute.memory_driver import MemoryDriver, dying_once_at, failing_at
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed, volume_of
from tests.factories import (
    ConfigFactory,
    DiskFactory,
    HostFactory,
    InstanceFactory,
    InstanceTypeFactory,
    RegionFactory,
    VolumeFactory,
)
from tests.world import STRONG

pytestmark = pytest.mark.django_db

VOLUMES = "/v4/volumes"
BUSY = {None: "Compute busy."}


@pytest.fixture
def off(world, driver) -> Instance:
    return deployed(world, driver, running=False, label="sleeper")


@pytest.fixture
def volume(world, driver) -> Volume:
    """20 GB, attached nowhere."""
    return volume_of(world, driver)


def at(volume: Volume, verb: str = "") -> str:
    return f"{VOLUMES}/{volume.pk}{verb and '/'}{verb}"


def finish(driver) -> Job:
    """Let the job that lives come to its end."""
    return work(Job.objects.get(finished_at=None), driver)


def slots(instance: Instance) -> dict[str, int]:
    """The volumes in the profiles of the instance."""
    return dict(VolumeDevice.objects.filter(config__instance=instance).values_list("slot", "volume"))


def plugged(driver, instance: Instance) -> set[str]:
    return set(driver.plugged(machine_name(instance.pk)))


def event_of(action: str) -> Event:
    return Event.objects.filter(action=action).latest("pk")


def reboot(api, instance: Instance) -> None:
    assert api.post(f"/v4/compute/instances/{instance.pk}/reboot").status_code == 200


def refusing(driver: MemoryDriver, call: str) -> Callable[[int, str], None]:
    def refuse(number: int, name: str) -> None:
        if name == call:
            raise Refused("It does not boot.")

    return refuse


def act(path: str, **body: Any) -> Callable[..., None]:
    """A boot by a request to the instance, whose job comes to its end."""

    def send(api, world, instance: Instance, driver: MemoryDriver) -> None:
        response = api.post(f"/v4/compute/instances/{instance.pk}/{path}", body)
        assert response.status_code == 200, response.content
        finish(driver)

    return send


def boot(api, world, instance: Instance, driver: MemoryDriver) -> None:
    act("shutdown")(api, world, instance, driver)
    act("boot")(api, world, instance, driver)


def resize(api, world, instance: Instance, driver: MemoryDriver) -> None:
    InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200)
    act("resize", type="g6-test-4")(api, world, instance, driver)


def watchdog_boots(api, world, instance: Instance, driver: MemoryDriver) -> None:
    driver.fall(machine_name(instance.pk))
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    assert watch(driver) == 1
    assert finish(driver).event.action == "lassie_reboot"


BOOTS = {
    "boot": boot,
    "reboot": act("reboot"),
    "rescue": act("rescue"),
    "rebuild": act("rebuild", image="compute/test11", root_pass=STRONG),
    "resize": resize,
    "watchdog": watchdog_boots,
}


# --- making ----------------------------------------------------------------------------------------------


def test_a_volume_is_creating_then_active(api, world, driver):
    response = api.post(VOLUMES, {"label": "data_1", "region": "us-test", "tags": ["blue", "big"]})

    assert response.status_code == 200, response.content
    made = response.json()
    assert made == {
        "id": made["id"],
        "label": "data_1",
        "filesystem_path": "/dev/disk/by-id/scsi-0Skerry_Volume_data_1",
        "status": "creating",
        "size": 20,
        "region": "us-test",
        "compute_id": None,
        "compute_label": None,
        "created": made["created"],
        "updated": made["updated"],
        "tags": ["blue", "big"],
        "hardware_type": "nvme",
    }
    assert finish(driver).state == "done"
    shown = api.get(f"{VOLUMES}/{made['id']}").json()
    assert shown == {**made, "status": "active", "updated": shown["updated"]}
    assert api.get(VOLUMES).json()["data"] == [shown]
    assert driver.volume_size(volume_name(made["id"])) == 20
    event = event_of("volume_create")
    assert (event.status, event.percent_complete, event.entity_type, event.entity_id) == (
        "finished", 100, "volume", made["id"],
    )  # fmt: skip


def test_a_volume_made_for_a_running_instance_is_in_its_profile_and_plugged_in(api, running, driver):
    made = api.post(VOLUMES, {"label": "data", "compute_id": running.pk, "size": 10240}).json()
    assert (made["region"], made["compute_id"], made["compute_label"]) == ("us-test", running.pk, "runner")
    assert slots(running) == {"sdc": made["id"]}
    assert not plugged(driver, running)

    made_by = finish(driver)
    assert (made_by.state, made_by.instance) == ("done", None)
    assert finish(driver).state == "done"

    assert plugged(driver, running) == {volume_name(made["id"])}
    event = event_of("volume_attach")
    assert (event.status, event.entity_id, event.secondary_id) == ("finished", made["id"], str(running.pk))
    assert event.username == "worldowner"
    assert event_of("volume_create").secondary_label == "runner"


def test_a_volume_whose_making_fails_is_gone_with_all_that_was_written_of_it(api, running, driver):
    made = api.post(VOLUMES, {"label": "data", "compute_id": running.pk, "tags": ["blue"]}).json()
    driver.before = failing_at(len(driver.calls))

    assert finish(driver).state == "failed"

    assert api.get(f"{VOLUMES}/{made['id']}").status_code == 404
    assert (slots(running), driver.volumes) == ({}, {})
    assert not Tagging.objects.filter(entity_type="volume").exists()
    event = event_of("volume_create")
    assert (event.status, event.message) == ("failed", "The host does not answer.")


@pytest.mark.parametrize("label", ["x" * 33, "", " "])
def test_a_label_has_1_to_32_characters(api, world, label):
    assert "1-32 characters" in errors(api.post(VOLUMES, {"label": label, "region": "us-test"}))["label"]


@pytest.mark.parametrize("label", ["1ab", "-ab", "_", "ä1", "\U0001d44e1", "7"])
def test_a_label_begins_with_a_letter(api, world, label):
    refused = api.post(VOLUMES, {"label": label, "region": "us-test"})
    assert errors(refused) == {"label": "Must begin with a letter"}


@pytest.mark.parametrize("label", ["a--b", "a__b", "a b", "aä", "ab\ncd", "a.b"])
def test_a_label_that_is_refused_is_told_which_characters_it_may_have(api, world, label):
    reason = "Must have letters, digits, - and _ only, and neither - nor _ twice in a row"
    assert errors(api.post(VOLUMES, {"label": label, "region": "us-test"})) == {"label": reason}


@pytest.mark.parametrize("label", ["a", "x" * 32, "a-_b", "Z9-", " blank "])
def test_any_other_label_is_taken_without_the_blanks_around_it(api, world, label):
    made = api.post(VOLUMES, {"label": label, "region": "us-test"})
    assert made.json()["label"] == label.strip()


def test_labels_are_unique_on_the_account_and_nowhere_else(api, client_for, volume, stranger):
    body = {"label": "data", "region": "us-test"}
    assert errors(api.post(VOLUMES, body)) == {"label": "Label must be unique among your volumes"}
    assert client_for(stranger).post(VOLUMES, body).status_code == 200


@pytest.mark.parametrize("size", ["20", 2.5, True])
def test_a_size_is_a_whole_number(api, world, size):
    refused = api.post(VOLUMES, {"label": "data", "region": "us-test", "size": size})
    assert errors(refused) == {"size": "size is not valid"}


@pytest.mark.parametrize("size", [0, -1, 9, 10241])
def test_a_size_is_10_to_10240_gb(api, world, size):
    refused = api.post(VOLUMES, {"label": "data", "region": "us-test", "size": size})
    assert errors(refused) == {"size": "Must be 10-10240"}


def test_a_size_that_is_null_is_the_default_as_all_that_is_null_is_not_given(api, world):
    body = {"label": "data", "region": "us-test"}
    made = api.post(VOLUMES, {**body, "size": None, "compute_id": None, "config_id": None, "tags": None}).json()
    assert (made["size"], made["compute_id"], made["tags"], made["hardware_type"]) == (20, None, [], "nvme")
    assert errors(api.post(VOLUMES, {**body, "label": None})) == {"label": "label is required"}


def test_all_that_is_wrong_is_told_at_once(api, world):
    refused = errors(api.post(VOLUMES, {"label": "data", "config_id": 5, "tags": ["x"]}))
    assert refused.pop("config_id") == "config_id is for a volume that is attached: compute_id is missing."
    assert refused.pop(None) == "Must provide a region or a Compute ID"
    assert set(refused) == {"tags[0]"}
    wanted = {"label": "label is required", None: "Must provide a region or a Compute ID"}
    assert errors(api.post(VOLUMES, {})) == wanted
    assert set(errors(api.post(VOLUMES, {"label": "data", "region": 7}))) == {"region"}
    assert set(errors(api.post(VOLUMES, {"label": "data", "compute_id": "x"}))) == {"compute_id"}
    refused = api.post(VOLUMES, {"label": "data", "region": "no-such", "compute_id": 5})
    assert errors(refused) == {"region": "region is not valid", "compute_id": "compute_id is not valid"}
    assert not Volume.objects.exists()
    assert not Event.objects.exists()


def test_a_region_has_to_offer_block_storage_and_decides_on_the_hardware(api, world):
    Region.objects.update(capabilities=["Computes", "Block Storage"])
    assert api.post(VOLUMES, {"label": "spun", "region": "us-test"}).json()["hardware_type"] == "hdd"
    Region.objects.update(capabilities=["Computes"])
    refused = errors(api.post(VOLUMES, {"label": "data", "region": "us-test"}))
    assert refused == {"region": "This region does not offer Block Storage."}


def test_the_region_named_with_an_instance_is_that_of_the_instance(api, off):
    RegionFactory(id="us-other")
    refused = api.post(VOLUMES, {"label": "data", "region": "us-other", "compute_id": off.pk})
    assert errors(refused) == {"region": "The compute is in another region."}


# --- attaching -------------------------------------------------------------------------------------------


def test_a_volume_attached_to_a_running_instance_is_shown_at_once_and_then_plugged_in(api, volume, running, driver):
    response = api.post(at(volume, "attach"), {"compute_id": running.pk})

    assert response.status_code == 200, response.content
    assert (response.json()["compute_id"], response.json()["compute_label"]) == (running.pk, "runner")
    assert api.get(at(volume)).json() == response.json()
    assert api.get(f"/v4/compute/instances/{running.pk}/volumes").json()["data"] == [response.json()]
    assert slots(running) == {"sdc": volume.pk}
    assert finish(driver).state == "done"
    assert plugged(driver, running) == {volume_name(volume.pk)}
    event = event_of("volume_attach")
    assert (event.status, event.entity_label, event.secondary_type) == ("finished", "data", "compute")


def test_a_volume_attached_to_an_instance_that_is_off_is_there_at_its_next_boot(api, world, volume, off, driver):
    assert api.post(at(volume, "attach"), {"compute_id": off.pk}).status_code == 200
    assert finish(driver).state == "done"
    assert not plugged(driver, off)
    work(power.boot(world.actor, off), driver)
    assert driver.plugged(machine_name(off.pk)) == {volume_name(volume.pk): "data"}


def test_it_goes_into_the_profile_that_is_named_in_the_first_free_slot(api, volume, off):
    other = ConfigFactory(instance=off)
    assert api.post(at(volume, "attach"), {"compute_id": off.pk, "config_id": other.pk}).status_code == 200
    device = VolumeDevice.objects.get()
    assert (device.config, device.slot) == (other, "sda")


def test_an_instance_without_profiles_has_it_in_none(api, volume, world, driver):
    bare = deployed(world, driver, image=None)
    assert api.post(at(volume, "attach"), {"compute_id": bare.pk}).json()["compute_id"] == bare.pk
    assert finish(driver).state == "done"
    assert slots(bare) == {}


def test_of_several_profiles_one_has_to_be_named_unless_one_was_booted(api, volume, off):
    ConfigFactory(instance=off)
    Instance.objects.filter(pk=off.pk).update(booted_config=None)
    refused = errors(api.post(at(volume, "attach"), {"compute_id": off.pk}))
    assert refused == {"config_id": "This compute has several configuration profiles: name one with config_id."}
    Instance.objects.filter(pk=off.pk).update(booted_config=off.configs.earliest("pk"))
    assert api.post(at(volume, "attach"), {"compute_id": off.pk}).status_code == 200


@pytest.mark.parametrize("whose", ["nobody's", "another's", "a rescue's"])
def test_a_profile_that_is_named_is_one_of_the_instances_own(api, volume, off, world, whose):
    config = ConfigFactory(instance=off, rescue=True)
    if whose == "another's":
        config = ConfigFactory(instance=InstanceFactory(account=world.account, host=world.host))
    pk = 10**12 if whose == "nobody's" else config.pk
    refused = api.post(at(volume, "attach"), {"compute_id": off.pk, "config_id": pk})
    assert errors(refused) == {"config_id": "config_id is not valid"}


def test_one_that_does_not_persist_is_attached_until_the_next_boot(api, volume, world, running, driver):
    body = {"compute_id": running.pk, "persist_across_boots": False}
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    assert (slots(running), plugged(driver, running)) == ({}, {volume_name(volume.pk)})
    running.refresh_from_db()
    work(power.reboot(world.actor, running), driver)
    assert not plugged(driver, running)
    assert api.get(at(volume)).json()["compute_id"] is None
    assert api.get(f"/v4/compute/instances/{running.pk}/volumes").json()["data"] == []
    told = Event.objects.get(action="volume_detach")
    assert (told.entity_id, told.secondary_id) == (volume.pk, str(running.pk))
    assert told.message == attachments.LEFT_BEHIND
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    assert plugged(driver, running) == {volume_name(volume.pk)}


def test_one_that_does_not_persist_needs_an_instance_that_runs_and_no_profile(api, volume, off):
    body = {"compute_id": off.pk, "persist_across_boots": False}
    assert set(errors(api.post(at(volume, "attach"), body))) == {"persist_across_boots"}
    refused = api.post(at(volume, "attach"), {**body, "config_id": off.configs.get().pk})
    assert set(errors(refused)) == {"config_id"}


@pytest.mark.parametrize("persists", [True, False])
def test_an_instance_has_eight_devices_at_most(api, volume, world, running, driver, persists):
    config = running.configs.get()
    for slot in ("sdc", "sdd", "sde"):
        attached = VolumeFactory(account=world.account, instance=running)
        VolumeDevice.objects.create(config=config, slot=slot, volume=attached)
    VolumeFactory.create_batch(3, account=world.account, instance=running)
    body = {"compute_id": running.pk, "persist_across_boots": persists}

    refused = errors(api.post(at(volume, "attach"), body))

    assert refused == {"compute_id": "The compute has 8 devices, which is as many as it can have."}
    Volume.objects.filter(instance=running, devices=None).first().delete()
    assert api.post(at(volume, "attach"), body).status_code == 200


@pytest.mark.parametrize(
    ("gigabytes", "most"), [(1, 8), (8, 8), (9, 9), (15.9, 15), (16, 16), (64, 64), (65, 64), (500, 64)]
)
def test_a_running_instance_has_a_device_for_each_gb_of_memory(api, world, running, volume, gigabytes, most):
    InstanceType.objects.filter(pk=running.type_id).update(memory=int(gigabytes * 1024))
    body = {"compute_id": running.pk, "persist_across_boots": False}
    VolumeFactory.create_batch(most - 2, account=world.account, instance=running)

    refused = errors(api.post(at(volume, "attach"), body))

    assert refused == {"compute_id": f"The compute has {most} devices, which is as many as it can have."}
    Volume.objects.filter(instance=running).first().delete()
    assert api.post(at(volume, "attach"), body).status_code == 200


def test_a_profile_has_eight_devices_whatever_the_memory(api, world, running, volume, driver):
    InstanceType.objects.filter(pk=running.type_id).update(memory=16 * 1024)
    config = running.configs.get()
    for slot in ("sdc", "sdd", "sde", "sdf", "sdg", "sdh"):
        attached = VolumeFactory(account=world.account, instance=running)
        VolumeDevice.objects.create(config=config, slot=slot, volume=attached)

    refused = errors(api.post(at(volume, "attach"), {"compute_id": running.pk}))

    assert refused == {"config_id": "The profile has 8 devices, which is as many as a profile can have."}
    body = {"compute_id": running.pk, "persist_across_boots": False}
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    assert plugged(driver, running) == {volume_name(volume.pk)}


@pytest.mark.parametrize("boot", BOOTS)
def test_each_boot_detaches_what_does_not_persist_and_keeps_what_a_profile_names(
    boot, api, world, running, volume, driver
):
    volume_of(world, driver, instance=running, label="kept")
    api.post(at(volume, "attach"), {"compute_id": running.pk, "persist_across_boots": False})
    finish(driver)
    Event.objects.all().delete()

    BOOTS[boot](api, world, running, driver)

    assert not Job.objects.filter(finished_at=None).exists()
    running.refresh_from_db()
    assert running.status == "running"
    shown = {each["label"]: each["compute_id"] for each in api.get(VOLUMES).json()["data"]}
    assert shown == {"data": None, "kept": running.pk}
    told = Event.objects.get(action="volume_detach")
    assert (told.entity_id, told.message, told.username) == (volume.pk, attachments.LEFT_BEHIND, "")


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_boot_that_is_delivered_again_tells_of_a_volume_once(api, world, running, volume, driver, dies):
    api.post(at(volume, "attach"), {"compute_id": running.pk, "persist_across_boots": False})
    finish(driver)
    reboot(api, running)
    job = Job.objects.get(finished_at=None)
    setattr(driver, dies, dying_once_at(len(driver.calls) + 1))

    assert work(job, driver).state == "done"

    assert Event.objects.filter(action="volume_detach").count() == 1
    assert api.get(at(volume)).json()["compute_id"] is None


def test_a_boot_that_fails_leaves_the_volume_attached_until_one_succeeds(api, world, running, volume, driver):
    api.post(at(volume, "attach"), {"compute_id": running.pk, "persist_across_boots": False})
    finish(driver)
    reboot(api, running)
    driver.before = refusing(driver, "start")
    assert finish(driver).state == "failed"
    running.refresh_from_db()
    assert running.status == "offline"
    assert api.get(at(volume)).json()["compute_id"] == running.pk
    driver.before = lambda number, name: None
    api.post(f"/v4/compute/instances/{running.pk}/boot")
    assert finish(driver).state == "done"
    assert api.get(at(volume)).json()["compute_id"] is None


def test_a_machine_that_is_on_gets_no_ninth_device_by_way_of_another_profile(api, volume, world, running, driver):
    booted, other = running.configs.get(), ConfigFactory(instance=running)
    for slot in ("sdc", "sdd", "sde", "sdf", "sdg", "sdh"):
        attached = VolumeFactory(account=world.account, instance=running)
        VolumeDevice.objects.create(config=booted, slot=slot, volume=attached)
    body = {"compute_id": running.pk, "config_id": other.pk}

    assert set(errors(api.post(at(volume, "attach"), body))) == {"compute_id"}

    work(power.shutdown(world.actor, running), driver)
    assert api.post(at(volume, "attach"), body).status_code == 200


def test_a_volume_is_attached_to_one_instance_only(api, volume, running, off, driver):
    api.post(at(volume, "attach"), {"compute_id": off.pk})
    finish(driver)
    refused = errors(api.post(at(volume, "attach"), {"compute_id": running.pk}))
    assert refused == {None: "The volume is already attached to another compute."}


def test_a_volume_that_the_instance_has_is_attached_already(api, volume, off, driver):
    attached = api.post(at(volume, "attach"), {"compute_id": off.pk})
    finish(driver)
    before = Event.objects.count()
    for config in (None, off.configs.get().pk):
        again = api.post(at(volume, "attach"), {"compute_id": off.pk, "config_id": config})
        assert (again.status_code, again.json()["compute_id"]) == (200, off.pk)
    assert (attached.status_code, Event.objects.count()) == (200, before)


def test_the_instance_has_to_be_there_and_in_the_region_of_the_volume(api, volume, world, stranger):
    other = InstanceFactory(account=world.account, region=RegionFactory(id="us-other"))
    reason = {"compute_id": "The compute is in another region than the volume."}
    assert errors(api.post(at(volume, "attach"), {"compute_id": other.pk})) == reason
    foreign = InstanceFactory(account=stranger.account)
    for pk in (foreign.pk, 10**12, -1):
        refused = errors(api.post(at(volume, "attach"), {"compute_id": pk}))
        assert refused == {"compute_id": "compute_id is not valid"}
    assert errors(api.post(at(volume, "attach"), {})) == {"compute_id": "compute_id is required"}


def test_attaching_and_detaching_wait_for_no_job_of_the_instance(api, volume, world, running):
    power.reboot(world.actor, running)
    assert errors(api.post(at(volume, "attach"), {"compute_id": running.pk})) == BUSY
    Volume.objects.filter(pk=volume.pk).update(instance=running)
    assert errors(api.post(at(volume, "detach"))) == BUSY


def test_what_is_wrong_is_told_before_the_instance_is_said_to_be_busy(api, volume, world, running):
    power.reboot(world.actor, running)
    refused = api.post(at(volume, "attach"), {"compute_id": running.pk, "config_id": 10**12})
    assert errors(refused) == {"config_id": "config_id is not valid"}
    assert errors(api.post(at(volume, "attach"), {"compute_id": running.pk})) == BUSY


def test_an_attachment_that_fails_leaves_it_as_it_was(api, volume, running, driver):
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    driver.after = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    assert api.get(at(volume)).json()["compute_id"] is None
    assert (slots(running), plugged(driver, running)) == ({}, set())
    assert event_of("volume_attach").status == "failed"


# --- detaching -------------------------------------------------------------------------------------------


def test_a_detached_volume_is_shown_so_at_once_and_leaves_the_guest_with_the_job(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    second = ConfigFactory(instance=running)
    VolumeDevice.objects.create(config=second, slot="sda", volume=mine)

    assert api.post(at(mine, "detach")).json() == {}

    shown = api.get(at(mine)).json()
    assert (shown["compute_id"], shown["compute_label"], slots(running)) == (None, None, {})
    assert api.get(f"/v4/compute/instances/{running.pk}/volumes").json()["data"] == []
    assert plugged(driver, running) == {volume_name(mine.pk)}
    assert finish(driver).state == "done"
    assert plugged(driver, running) == set()
    event = event_of("volume_detach")
    assert (event.status, event.entity_id, event.secondary_id) == ("finished", mine.pk, str(running.pk))


def test_a_detachment_that_fails_shows_the_volume_again_where_it_was(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    second = ConfigFactory(instance=running)
    VolumeDevice.objects.create(config=second, slot="sda", volume=mine)
    api.post(at(mine, "detach"))
    driver.after = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    assert api.get(at(mine)).json()["compute_id"] == running.pk
    places = VolumeDevice.objects.filter(volume=mine).values_list("config", "slot")
    assert set(places) == {(running.configs.earliest("pk").pk, "sdc"), (second.pk, "sda")}
    assert plugged(driver, running) == {volume_name(mine.pk)}


def test_a_detachment_that_fails_takes_no_slot_from_what_is_there_by_then(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    config, disk = running.configs.get(), DiskFactory(instance=running)
    api.post(at(mine, "detach"))
    path = f"/v4/compute/instances/{running.pk}/configs/{config.pk}"
    assert api.put(path, {"devices": {"sdc": {"disk_id": disk.pk}}}).status_code == 200
    driver.after = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    assert (api.get(at(mine)).json()["compute_id"], slots(running)) == (running.pk, {})


def test_what_is_attached_nowhere_is_detached_already(api, volume):
    Event.objects.all().delete()
    for status in ("active", "creating", "resizing"):
        Volume.objects.filter(pk=volume.pk).update(status=status)
        response = api.post(at(volume, "detach"))
        assert (response.status_code, response.json()) == (200, {})
    assert not Event.objects.exists()
    assert not Job.objects.filter(finished_at=None).exists()


def test_a_volume_of_an_instance_that_is_being_deleted_is_detached_before_that_is_gone(
    api, world, running, off, driver
):
    mine = volume_of(world, driver, instance=running)
    deletion = instances.delete(world.actor, running)

    assert api.post(at(mine, "detach")).json() == {}

    assert (api.get(at(mine)).json()["compute_id"], slots(running)) == (None, {})
    detachment = Job.objects.get(kind="volume_detach")
    assert api.post(at(mine, "attach"), {"compute_id": off.pk}).status_code == 200
    attachment = Job.objects.get(kind="volume_attach", finished_at=None)
    engine.run(attachment.pk, driver)
    attachment.refresh_from_db()
    assert (attachment.finished_at, attachment.step) == (None, "turn"), "the machine still has the volume"
    assert work(detachment, driver).state == "done"
    assert plugged(driver, running) == set()
    assert work(attachment, driver).state == "done"
    assert work(deletion, driver).state == "done"
    assert api.get(at(mine)).json()["compute_id"] == off.pk
    event = Event.objects.get(action="volume_detach")
    assert (event.status, event.secondary_label, event.username) == ("finished", "runner", "worldowner")


@pytest.mark.parametrize("at_its_end", [True, False], ids=["driver does not answer", "machine is gone"])
def test_a_volume_of_a_deleted_instance_stays_free_whatever_becomes_of_the_job(
    api, world, running, driver, settings, at_its_end
):
    mine = volume_of(world, driver, instance=running)
    deletion = instances.delete(world.actor, running)
    api.post(at(mine, "detach"))
    detachment = Job.objects.get(kind="volume_detach")
    if at_its_end:
        driver.before = failing_at(len(driver.calls), times=settings.JOB_ATTEMPTS)
    else:
        work(deletion, driver)
    work(detachment, driver)
    assert detachment.state == ("failed" if at_its_end else "done")
    mine.refresh_from_db()
    assert mine.instance is None
    work(deletion, driver)
    assert api.post(at(mine, "detach")).status_code == 200


def test_a_volume_that_a_job_works_on_is_detached_by_the_end_of_the_deletion(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    api.post(at(mine, "resize"), {"size": 30})
    deletion = instances.delete(world.actor, running)
    assert api.post(at(mine, "detach")).status_code == 200
    assert not Job.objects.filter(kind="volume_detach").exists()
    work(deletion, driver)
    assert api.get(at(mine)).json()["compute_id"] is None
    assert work(Job.objects.get(kind="volume_resize"), driver).state == "done"


def test_a_volume_that_an_instance_runs_from_stays_until_it_is_off(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    config = running.configs.get()
    config.root_device = "/dev/sdc"
    config.save()
    assert errors(api.post(at(mine, "detach"))) == {None: "The compute runs from this volume: shut it down first."}
    running.refresh_from_db()
    work(power.shutdown(world.actor, running), driver)
    assert api.post(at(mine, "detach")).status_code == 200


# --- growing ---------------------------------------------------------------------------------------------


def test_a_volume_grows_while_it_is_in_use(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)

    response = api.post(at(mine, "resize"), {"size": 30})

    assert (response.json()["status"], response.json()["size"]) == ("resizing", 30)
    assert api.get(at(mine)).json()["size"] == 30
    assert driver.volume_size(volume_name(mine.pk)) == 20
    assert finish(driver).state == "done"
    shown = api.get(at(mine)).json()
    assert (shown["status"], shown["size"]) == ("active", 30)
    assert driver.volume_size(volume_name(mine.pk)) == 30
    assert event_of("volume_resize").entity_id == mine.pk


@pytest.mark.parametrize("size", [20, 19, 1, 0, -1])
def test_a_volume_never_shrinks(api, volume, size):
    reason = {"size": "Storage volumes can only be resized up"}
    assert errors(api.post(at(volume, "resize"), {"size": size})) == reason


def test_a_resize_needs_a_size_that_volumes_have(api, volume):
    def refused(body: dict) -> dict:
        return errors(api.post(at(volume, "resize"), body))

    assert refused({}) == refused({"size": None}) == {"size": "size is required"}
    assert refused({"size": "30"}) == {"size": "size is not valid"}
    assert refused({"size": 10241}) == {"size": "Storage volumes cannot be resized larger than 10240 gigabytes"}
    Volume.objects.filter(pk=volume.pk).update(size=5)  # as releases before made them
    assert refused({"size": 9}) == {"size": "Must be 10-10240"}
    assert api.post(at(volume, "resize"), {"size": 10}).status_code == 200


def test_a_resize_that_fails_shows_how_large_it_is(api, volume, driver):
    api.post(at(volume, "resize"), {"size": 30})
    driver.before = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    shown = api.get(at(volume)).json()
    assert (shown["status"], shown["size"]) == ("active", 20)

    driver.before = lambda number, name: None
    api.post(at(volume, "resize"), {"size": 30})
    driver.after = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    shown = api.get(at(volume)).json()
    assert (shown["status"], shown["size"]) == ("active", 30), "it grew, whatever was heard of it"


# --- cloning ---------------------------------------------------------------------------------------------


def test_a_clone_is_a_volume_of_its_own_attached_nowhere(api, world, running, driver):
    mine = volume_of(world, driver, instance=running, size=40, tags=("blue",))

    made = api.post(at(mine, "clone"), {"label": "copy"}).json()

    assert (made["status"], made["size"], made["region"], made["compute_id"]) == ("creating", 40, "us-test", None)
    assert made["tags"] == []
    assert finish(driver).state == "done"
    assert driver.volumes[volume_name(made["id"])].copy_of == volume_name(mine.pk)
    assert api.get(f"{VOLUMES}/{made['id']}").json()["status"] == "active"
    event = event_of("volume_clone")
    assert (event.entity_id, event.secondary_id, event.status) == (mine.pk, str(made["id"]), "finished")


def test_a_clone_is_made_where_the_original_is_in_use(api, world, running, driver, monkeypatch):
    other = HostFactory(region=world.region)
    mine = volume_of(world, driver, instance=running)
    asked: list[str] = []
    create = MemoryDriver.create_volume

    def seen(self: MemoryDriver, spec: VolumeSpec) -> Progress:
        asked.append(self.host)
        return create(self, spec)

    monkeypatch.setattr(MemoryDriver, "create_volume", seen)
    Host.objects.filter(pk=running.host_id).update(enabled=False)
    assert other.enabled, "it would be chosen, since it is in service"
    made = api.post(at(mine, "clone"), {"label": "copy"}).json()
    assert finish(driver).state == "done"
    assert set(asked) == {str(running.host.uuid)}
    assert Volume.objects.get(pk=made["id"]).status == "active"


def test_a_clone_needs_a_label_of_its_own(api, volume):
    assert errors(api.post(at(volume, "clone"), {})) == {"label": "label is required"}
    refused = errors(api.post(at(volume, "clone"), {"label": "data"}))
    assert refused == {"label": "Label must be unique among your volumes"}
    assert not Job.objects.filter(finished_at=None).exists()


def test_what_is_being_copied_stays_as_large_as_it_is(api, volume):
    api.post(at(volume, "clone"), {"label": "copy"})
    assert errors(api.post(at(volume, "resize"), {"size": 30})) == BUSY
    assert api.post(at(volume, "clone"), {"label": "second"}).status_code == 200


# --- one thing at a time ---------------------------------------------------------------------------------

WRITES = {"resize": {"size": 30}, "clone": {"label": "copy"}, "detach": None}


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize("status", ["creating", "resizing"])
def test_only_an_active_volume_is_resized_cloned_and_detached(api, volume, off, verb, status):
    Volume.objects.filter(pk=volume.pk).update(status=status, instance=off)
    reason = f"Cannot {verb} a volume that is {status}."
    assert errors(api.post(at(volume, verb), WRITES[verb])) == {None: reason}


def test_the_state_is_named_along_with_the_fields_that_fail(api, volume):
    Volume.objects.filter(pk=volume.pk).update(status="resizing")
    assert set(errors(api.post(at(volume, "clone"), {"label": "1"}))) == {None, "label"}
    assert set(errors(api.post(at(volume, "clone"), {"label": "data"}))) == {None, "label"}
    assert set(errors(api.post(at(volume, "resize"), {"size": 10241}))) == {None, "size"}
    assert set(errors(api.post(at(volume, "resize"), {"size": 5}))) == {None, "size"}


def test_a_volume_that_is_being_detached_is_neither_resized_nor_cloned(api, world, off, driver):
    mine = volume_of(world, driver, instance=off)
    api.post(at(mine, "detach"))
    for verb in ("resize", "clone"):
        assert errors(api.post(at(mine, verb), WRITES[verb])) == BUSY
    assert api.post(at(mine, "detach")).status_code == 200
    assert Job.objects.filter(kind="volume_detach").count() == 1
    assert api.put(at(mine), {"label": "renamed"}).status_code == 200


# --- changing and deleting -------------------------------------------------------------------------------


def test_label_and_tags_can_be_changed_and_the_rest_is_ignored(api, volume):
    shown = api.get(at(volume)).json()
    body = {**shown, "label": "photos", "tags": ["blue"], "size": 99999, "region": 7, "compute_id": "x"}

    changed = api.put(at(volume), body).json()

    path = "/dev/disk/by-id/scsi-0Skerry_Volume_photos"
    wanted = {**shown, "label": "photos", "tags": ["blue"], "filesystem_path": path}
    assert changed == {**wanted, "updated": changed["updated"]}
    assert event_of("volume_update").entity_label == "photos"
    assert Tagging.objects.get().entity_id == volume.pk


def test_what_was_got_can_be_put_back_and_is_no_event(api, volume):
    shown = api.get(at(volume)).json()
    Event.objects.all().delete()
    assert api.put(at(volume), shown).json() == shown
    assert api.put(at(volume), {"tags": None}).json() == shown
    assert not Event.objects.exists()


def test_what_is_ignored_stays_so_beside_a_field_that_is_wrong(api, volume):
    body = {"label": "7", "region": 7, "size": 430, "compute_id": None}
    assert wrong_fields(api.put(f"{VOLUMES}/{volume.pk}", body)) == ["label"]


def test_a_guest_finds_it_by_a_new_label_from_the_next_boot_on(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    api.put(at(mine), {"label": "photos"})
    assert driver.plugged(machine_name(running.pk)) == {volume_name(mine.pk): "data"}
    running.refresh_from_db()
    work(power.reboot(world.actor, running), driver)
    assert driver.plugged(machine_name(running.pk)) == {volume_name(mine.pk): "photos"}


def test_a_deleted_volume_is_gone_at_once_and_its_contents_when_the_job_is_done(api, volume, driver):
    assert api.delete(at(volume)).json() == {}
    assert api.get(at(volume)).status_code == 404
    assert api.delete(at(volume)).status_code == 404
    assert api.post(VOLUMES, {"label": "data", "region": "us-test"}).status_code == 200, "its label is free"
    assert driver.volume_size(volume_name(volume.pk)) == 20
    assert work(Job.objects.get(kind="volume_delete"), driver).state == "done"
    assert driver.volume_size(volume_name(volume.pk)) is None
    event = event_of("volume_delete")
    assert (event.status, event.entity_id, event.entity_label) == ("finished", volume.pk, "data")


def test_a_volume_that_a_running_instance_has_is_not_deleted(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    reason = {None: "This volume must be detached before it can be deleted."}
    assert errors(api.delete(at(mine))) == reason
    power.reboot(world.actor, running)
    assert errors(api.delete(at(mine))) == BUSY


@pytest.mark.parametrize("status", ["offline", "stopped"])
def test_a_volume_of_an_instance_that_is_off_is_detached_and_deleted(api, world, off, driver, status):
    mine = volume_of(world, driver, instance=off)
    Instance.objects.filter(pk=off.pk).update(status=status)
    assert slots(off)
    assert api.delete(at(mine)).json() == {}
    assert api.get(at(mine)).status_code == 404
    assert slots(off) == {}
    event = event_of("volume_detach")
    assert (event.status, event.entity_id, event.secondary_label) == ("notification", mine.pk, "sleeper")
    assert finish(driver).state == "done"
    assert not driver.volumes


# --- what becomes of it when something happens to its instance -------------------------------------------


def test_deleting_the_instance_detaches_its_volumes(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    work(instances.delete(world.actor, running), driver)
    assert api.get(at(mine)).json()["compute_id"] is None
    assert driver.volume_size(volume_name(mine.pk)) == 20
    event = event_of("volume_detach")
    assert (event.status, event.secondary_label) == ("notification", "runner")


def test_deleting_the_instance_ends_an_attachment_that_is_under_way(api, world, volume, running, driver):
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    attachment = Job.objects.get(kind="volume_attach")
    instances.delete(world.actor, running)
    assert work(attachment, driver).state == "failed"
    work(Job.objects.get(kind="delete"), driver)
    volume.refresh_from_db()
    assert (volume.instance, volume.status) == (None, "active")


def test_a_rebuild_keeps_the_volumes_of_the_profiles_in_the_new_one(world, running, driver):
    mine = volume_of(world, driver, instance=running)
    running.refresh_from_db()
    rebuild.rebuild(world.actor, running, RebuildSpec(image=world.image.pk, root_pass=STRONG))
    assert finish(driver).state == "done"
    assert slots(running) == {"sdc": mine.pk}
    assert plugged(driver, running) == {volume_name(mine.pk)}


def test_another_instance_gets_no_volumes_with_a_clone(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    made = api.post(f"/v4/compute/instances/{running.pk}/clone", {"region": "us-test", "type": world.type.pk})
    assert made.status_code == 200, made.content
    finish(driver)
    assert slots(Instance.objects.get(pk=made.json()["id"])) == {}
    assert api.get(at(mine)).json()["compute_id"] == running.pk


def test_a_driver_that_is_down_does_not_keep_the_row_of_a_deleted_volume(api, volume, driver):
    def down(number: int, name: str) -> None:
        raise DriverError("The host does not answer.")

    driver.before = down
    api.delete(at(volume))
    job = Job.objects.get(kind="volume_delete")
    with pytest.raises(AssertionError, match="does not end"):
        work(job, driver)
    driver.before = lambda number, name: None
    assert work(job, driver).state == "done"
    assert not driver.volumes


# --- who may ---------------------------------------------------------------------------------------------


@pytest.fixture
def helper(world) -> User:
    return User.objects.create_user("worldhelper", account=world.account, restricted=True)


def grant(user: User, kind: str, pk: int, level: str = "read_write") -> None:
    Grant.objects.update_or_create(user=user, entity_type=kind, entity_id=pk, defaults={"permissions": level})


def test_a_restricted_user_sees_what_was_granted_and_makes_what_it_may(client_for, helper, volume, off, driver):
    from accounts.models import GlobalGrants

    api = client_for(helper)
    assert api.get(VOLUMES).json()["data"] == []
    assert api.get(at(volume)).status_code == 404
    assert api.post(VOLUMES, {"label": "mine", "region": "us-test"}).status_code == 403
    GlobalGrants.objects.create(user=helper, add_volumes=True)
    made = api.post(VOLUMES, {"label": "mine", "region": "us-test"}).json()
    assert [row["id"] for row in api.get(VOLUMES).json()["data"]] == [made["id"]]
    finish(driver)
    assert api.put(f"{VOLUMES}/{made['id']}", {"label": "ours"}).status_code == 200
    assert api.put(f"{VOLUMES}/{made['id']}", {"tags": ["blue"]}).status_code == 403
    assert api.post(VOLUMES, {"label": "more", "region": "us-test", "tags": ["blue"]}).status_code == 403
    assert api.delete(f"{VOLUMES}/{made['id']}").status_code == 200
    assert not Grant.objects.filter(entity_type="volume").exists()


def test_who_may_read_a_volume_is_shown_its_instance_also_one_that_it_may_not_see(client_for, helper, volume, off):
    Volume.objects.filter(pk=volume.pk).update(instance=off)
    grant(helper, "volume", volume.pk, "read_only")
    api = client_for(helper)

    assert api.get(f"/v4/compute/instances/{off.pk}").status_code == 404
    assert api.get(at(volume)).json()["compute_id"] == off.pk
    assert [row["compute_id"] for row in api.get(VOLUMES).json()["data"]] == [off.pk]


def test_a_clone_needs_to_see_the_original_and_may_add_volumes(client_for, helper, volume):
    from accounts.models import GlobalGrants

    api = client_for(helper)
    GlobalGrants.objects.create(user=helper, add_volumes=True)
    assert api.post(at(volume, "clone"), {"label": "copy"}).status_code == 404
    grant(helper, "volume", volume.pk, "read_only")
    made = api.post(at(volume, "clone"), {"label": "copy"})
    assert made.status_code == 200
    assert Grant.objects.filter(user=helper, entity_type="volume", entity_id=made.json()["id"]).exists()


def test_attaching_and_detaching_needs_to_change_both(client_for, helper, volume, off, driver):
    api, body = client_for(helper), {"compute_id": off.pk}
    grant(helper, "volume", volume.pk, "read_only")
    assert api.post(at(volume, "attach"), body).status_code == 403
    grant(helper, "volume", volume.pk)
    assert errors(api.post(at(volume, "attach"), body)) == {"compute_id": "compute_id is not valid"}
    grant(helper, "compute", off.pk, "read_only")
    refused = api.post(at(volume, "attach"), body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (403, "compute_id")
    grant(helper, "compute", off.pk)
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    grant(helper, "compute", off.pk, "read_only")
    assert api.post(at(volume, "detach")).status_code == 403
    grant(helper, "compute", off.pk)
    assert api.post(at(volume, "detach")).status_code == 200


def test_attaching_and_detaching_needs_two_scopes(client_for, volume, off, world):
    owner = User.objects.get(pk=world.actor.user_id)
    for verb in ("attach", "detach"):
        for scope in ("volumes:read_write", "computes:read_write"):
            assert client_for(owner, scope).post(at(volume, verb), {"compute_id": off.pk}).status_code == 401
    both = client_for(owner, "volumes:read_write computes:read_write")
    answer = both.post(at(volume, "attach"), {"compute_id": off.pk})
    assert answer.status_code == 200
    assert answer["X-Accepted-OAuth-Scopes"] == "volumes:read_write,computes:read_write"


def test_lists_are_filtered_by_label_region_and_tags(api, world):
    VolumeFactory(account=world.account, label="blue", region=world.region, tags=["big", "wet"])
    VolumeFactory(account=world.account, label="green", region=RegionFactory(id="us-more"), tags=["wet"])

    def labels(wanted: dict) -> list[str]:
        return [row["label"] for row in api.get(VOLUMES, x_filter=wanted).json()["data"]]

    assert labels({"tags": "wet"}) == ["blue", "green"]
    assert labels({"tags": "big"}) == ["blue"]
    assert labels({"region": "us-more"}) == ["green"]
    assert labels({"region": {"+contains": "-test"}}) == ["blue"]
    assert labels({"label": {"+contains": "ee"}}) == ["green"]
    assert errors(api.get(VOLUMES, x_filter={"size": 20})) == {"X-Filter": "Cannot filter on size"}


def test_a_disk_in_the_slot_of_a_volume_leaves_it_attached(api, world, off, driver):
    mine = volume_of(world, driver, instance=off)
    config = off.configs.get()
    disk = DiskFactory(instance=off)
    path = f"/v4/compute/instances/{off.pk}/configs/{config.pk}"
    assert api.put(path, {"devices": {"sdc": {"disk_id": disk.pk}}}).status_code == 200
    assert slots(off) == {}
    assert api.get(at(mine)).json()["compute_id"] == off.pk
