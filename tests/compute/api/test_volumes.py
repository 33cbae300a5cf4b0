"""The API of volumes: create, grow, clone, change and delete."""

import pytest

from accounts.models import Event, Grant
from compute.drivers.base import DriverError, Progress, VolumeSpec
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job, Volume
from compute.models.volumes import volume_name
from compute.services.instances import power
from regions.models import Region
from tags.models import Tagging
from tests.client import errors, wrong_fields
from tests.compute.api.volumes import BUSY, VOLUMES, at, event_of, finish, grant, plugged, slots
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import volume_of
from tests.factories import HostFactory, RegionFactory, VolumeFactory

pytestmark = pytest.mark.django_db


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
def test_a_refused_label_gets_the_allowed_characters(api, world, label):
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


def test_all_errors_are_reported_together(api, world):
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
    Volume.objects.filter(pk=volume.pk).update(size=5)  # as earlier releases created them
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


def test_a_volume_cannot_be_resized_while_it_is_copied(api, volume):
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


def test_a_put_of_the_answer_of_get_makes_no_event(api, volume):
    shown = api.get(at(volume)).json()
    Event.objects.all().delete()
    assert api.put(at(volume), shown).json() == shown
    assert api.put(at(volume), {"tags": None}).json() == shown
    assert not Event.objects.exists()


def test_ignored_fields_stay_ignored_when_another_field_is_wrong(api, volume):
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


# --- lists ----------------------------------------------------------------------------------------------


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


# --- who may ---------------------------------------------------------------------------------------------


def test_a_restricted_user_sees_granted_volumes_and_needs_add_volumes(client_for, helper, volume, off, driver):
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


def test_a_readable_volume_shows_the_id_of_a_hidden_instance(client_for, helper, volume, off):
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
