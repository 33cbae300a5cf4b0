"""The API of attaching volumes to instances and detaching them."""

import pytest

from accounts.models import Event, User
from compute.machine_names import machine_name
from compute.models import Instance, InstanceType, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.instances import instances, power
from compute.services.volumes import attachments
from compute.worker import engine
from tests.client import errors
from tests.compute.api.volumes import BUSY, at, event_of, finish, grant, plugged, slots
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed, volume_of
from tests.factories import ConfigFactory, DiskFactory, InstanceFactory, RegionFactory, VolumeFactory

pytestmark = pytest.mark.django_db


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


def test_the_profile_is_required_unless_one_was_booted(api, volume, off):
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


def test_a_temporary_attachment_lasts_until_the_next_boot(api, volume, world, running, driver):
    body = {"compute_id": running.pk, "persist_across_boots": False}
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    assert (slots(running), plugged(driver, running)) == ({}, {volume_name(volume.pk)})
    running.refresh_from_db()
    work(power.reboot(world.actor, running), driver)
    assert not plugged(driver, running)
    assert api.get(at(volume)).json()["compute_id"] is None
    assert api.get(f"/v4/compute/instances/{running.pk}/volumes").json()["data"] == []
    event = Event.objects.get(action="volume_detach")
    assert (event.entity_id, event.secondary_id) == (volume.pk, str(running.pk))
    assert event.message == attachments.LEFT_BEHIND
    assert api.post(at(volume, "attach"), body).status_code == 200
    finish(driver)
    assert plugged(driver, running) == {volume_name(volume.pk)}


def test_a_temporary_attachment_needs_a_running_instance(api, volume, off):
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


def test_a_profile_has_at_most_eight_devices(api, world, running, volume, driver):
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


def test_errors_are_named_before_compute_busy(api, volume, world, running):
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


def test_a_failed_detachment_takes_no_slot_that_is_used_by_then(api, world, running, driver):
    mine = volume_of(world, driver, instance=running)
    config, disk = running.configs.get(), DiskFactory(instance=running)
    api.post(at(mine, "detach"))
    path = f"/v4/compute/instances/{running.pk}/configs/{config.pk}"
    assert api.put(path, {"devices": {"sdc": {"disk_id": disk.pk}}}).status_code == 200
    driver.after = failing_at(len(driver.calls))
    assert finish(driver).state == "failed"
    assert (api.get(at(mine)).json()["compute_id"], slots(running)) == (running.pk, {})


def test_detaching_a_detached_volume_changes_nothing(api, volume):
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
def test_a_volume_of_a_deleted_instance_stays_detached(api, world, running, driver, settings, at_its_end):
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


# --- who may ---------------------------------------------------------------------------------------------


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
