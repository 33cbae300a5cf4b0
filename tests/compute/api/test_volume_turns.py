"""Volumes that more than one job needs: the order of the jobs, and the effects of a failure."""

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Refused, VolumeSpec
from compute.jobs.data import VolumeData
from compute.machine_names import machine_name
from compute.models import Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.instances import instances, power
from compute.worker import engine
from compute.worker.steps import volumes as steps
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work, work_through
from tests.compute.worker.scenarios import deployed, volume_of
from tests.compute.worker.soundness import assert_volumes_sound
from tests.factories import RegionFactory

pytestmark = pytest.mark.django_db

BUSY = {None: "Compute busy."}


@pytest.fixture
def other(world, driver) -> Instance:
    return deployed(world, driver, label="other")


def at(volume: Volume | int, verb: str = "") -> str:
    pk = volume if isinstance(volume, int) else volume.pk
    return f"/v4/volumes/{pk}{verb and '/'}{verb}"


def plugged(driver, instance: Instance) -> set[str]:
    return set(driver.plugged(machine_name(instance.pk)))


def job_of(kind: str) -> Job:
    return Job.objects.filter(kind=kind).latest("pk")


def once(job: Job, driver) -> Job:
    """Run the job for the steps of one task, as if it were due. The job goes on afterwards."""
    Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert job.finished_at is None
    return job


def event_of(action: str) -> Event:
    return Event.objects.filter(action=action).latest("pk")


# --- attaching what is being made, resized or detached -------------------------------------------------------


def begin(api, world, driver, what: str, source: Instance) -> tuple[Volume, Job]:
    """Create a detached volume with a job in progress. Returns the volume and the job."""
    if what == "volume_create":
        made = api.post("/v4/volumes", {"label": "data", "region": "us-test"}).json()
        return Volume.objects.get(pk=made["id"]), job_of(what)
    volume = volume_of(world, driver, instance=source if what == "volume_detach" else None)
    if what == "volume_clone":
        made = api.post(at(volume, "clone"), {"label": "copy"}).json()
        return Volume.objects.get(pk=made["id"]), job_of(what)
    body = {"size": 30} if what == "volume_resize" else {}
    assert api.post(at(volume, what.removeprefix("volume_")), body).status_code == 200
    return volume, job_of(what)


@pytest.mark.parametrize("what", ["volume_create", "volume_clone", "volume_resize", "volume_detach"])
def test_a_volume_is_attached_after_its_running_job(what, api, world, running, other, driver):
    volume, before = begin(api, world, driver, what, other)

    taken = api.post(at(volume, "attach"), {"compute_id": running.pk})

    assert (taken.status_code, taken.json()["compute_id"]) == (200, running.pk)
    attachment = once(job_of("volume_attach"), driver)
    assert not plugged(driver, running)
    assert errors(api.post(f"/v4/compute/instances/{running.pk}/reboot")) == BUSY
    for verb, body in (("resize", {"size": 99}), ("clone", {"label": "more"}), ("detach", {})):
        assert api.post(at(volume, verb), body).status_code == 400
    assert work(before, driver).state == "done"
    assert work(attachment, driver).state == "done"
    assert plugged(driver, running) == {volume_name(volume.pk)}
    assert attachment.volume == volume
    assert_volumes_sound(driver)


def test_a_volume_that_was_not_made_is_not_attached(api, world, running, driver):
    volume, making = begin(api, world, driver, "volume_create", running)
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    driver.before = failing_at(len(driver.calls))
    assert work(making, driver).state == "failed"
    assert api.get(at(volume)).status_code == 404
    assert work(job_of("volume_attach"), driver).state == "failed"
    assert event_of("volume_attach").message == "The volume could not be created."
    assert not VolumeDevice.objects.exists()


def test_a_volume_that_was_not_detached_is_not_attached_elsewhere(api, world, running, other, driver):
    volume, leaving = begin(api, world, driver, "volume_detach", other)
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    driver.after = failing_at(len(driver.calls))
    assert work(leaving, driver).state == "failed"
    assert api.get(at(volume)).json()["compute_id"] == other.pk
    assert work(job_of("volume_attach"), driver).state == "failed"
    assert event_of("volume_attach").message == "The volume is still attached to another compute."
    assert [device.config.instance for device in VolumeDevice.objects.all()] == [other]
    assert plugged(driver, other) == {volume_name(volume.pk)}
    assert_volumes_sound(driver)


def test_deleting_the_instance_does_not_reattach_a_detaching_volume(api, world, running, other, driver):
    volume, leaving = begin(api, world, driver, "volume_detach", other)
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    instances.delete(world.actor, other)
    assert work(leaving, driver).state == "failed"
    assert work(job_of("volume_attach"), driver).state == "done"
    assert work(job_of("delete"), driver).state == "done"
    assert plugged(driver, running) == {volume_name(volume.pk)}
    assert api.get(at(volume)).json()["compute_id"] == running.pk
    assert_volumes_sound(driver)


def test_the_deletion_of_an_instance_ends_an_attachment_that_waits(api, world, running, driver):
    volume, making = begin(api, world, driver, "volume_create", running)
    api.post(at(volume, "attach"), {"compute_id": running.pk})
    instances.delete(world.actor, running)
    assert work(job_of("volume_attach"), driver).state == "failed"
    assert work(job_of("delete"), driver).state == "done"
    assert work(making, driver).state == "done"
    assert api.get(at(volume)).json()["compute_id"] is None
    assert_volumes_sound(driver)


# --- booting with it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["volume_create", "volume_clone", "volume_detach"])
def test_a_profile_may_name_it_and_the_boot_waits(what, api, world, other, driver):
    off = deployed(world, driver, running=False)
    volume, before = begin(api, world, driver, what, other)
    path = f"/v4/compute/instances/{off.pk}/configs/{off.configs.get().pk}"

    assert api.put(path, {"devices": {"sda": {"volume_id": volume.pk}}}).status_code == 200

    assert api.get(at(volume)).json()["compute_id"] == off.pk
    booting = once(power.boot(world.actor, off), driver)
    assert "start" not in driver.calls[-1:]
    assert work(before, driver).state == "done"
    assert work(booting, driver).state == "done"
    assert plugged(driver, off) == {volume_name(volume.pk)}


def test_resizing_a_volume_does_not_delay_a_boot(api, world, driver):
    off = deployed(world, driver, running=False)
    volume = volume_of(world, driver, instance=off)
    assert api.post(at(volume, "resize"), {"size": 30}).status_code == 200
    off.refresh_from_db()
    assert work(power.boot(world.actor, off), driver).state == "done"
    assert plugged(driver, off) == {volume_name(volume.pk)}


# --- made for an instance that is busy -----------------------------------------------------------------------


@pytest.mark.parametrize("status", sorted(set(Instance.Status) - {Instance.Status.DELETING}))
def test_a_volume_is_made_for_an_instance_in_any_status(status, api, running):
    Instance.objects.filter(pk=running.pk).update(status=status)
    made = api.post("/v4/volumes", {"label": "data", "compute_id": running.pk})
    assert (made.status_code, made.json()["compute_id"]) == (200, running.pk)


def test_none_is_made_for_an_instance_that_is_deleted_or_leaves_the_region(api, world, running):
    body = {"label": "data", "compute_id": running.pk}
    job = instances.delete(world.actor, running)
    assert errors(api.post("/v4/volumes", body)) == BUSY
    Instance.objects.filter(pk=running.pk).update(status="migrating")
    Job.objects.filter(pk=job.pk).update(kind="migrate_region")
    assert errors(api.post("/v4/volumes", body)) == BUSY
    assert not Volume.objects.exists()


def test_an_instance_that_is_being_deployed_boots_with_the_volume_that_is_made_meanwhile(api, world, driver):
    instance = world.create()
    made = api.post("/v4/volumes", {"label": "data", "compute_id": instance.pk}).json()
    deployment = once(instance.jobs.get(), driver)
    assert deployment.step == "boot"
    making = once(job_of("volume_create"), driver)
    assert work(deployment, driver).state == "done"
    assert plugged(driver, instance) == {volume_name(made["id"])}
    assert work_through(making, driver).state == "done"
    assert_volumes_sound(driver)


def test_a_volume_waits_until_its_instance_is_idle_to_be_plugged_in(api, world, running, driver):
    reboot = power.reboot(world.actor, running)
    made = api.post("/v4/volumes", {"label": "data", "compute_id": running.pk}).json()
    making = once(job_of("volume_create"), driver)
    assert api.get(at(made["id"])).json()["status"] == "active"
    assert errors(api.post(at(made["id"], "resize"), {"size": 30})) == BUSY
    assert making.step == "hand_over"
    work(reboot, driver)
    running.refresh_from_db()
    assert work_through(making, driver).state == "done"
    assert plugged(driver, running) == {volume_name(made["id"])}
    assert [event_of(action).status for action in ("volume_create", "volume_attach")] == ["finished"] * 2


def test_another_job_that_is_faster_is_waited_for(api, world, running, driver, monkeypatch):
    api.post("/v4/volumes", {"label": "data", "compute_id": running.pk})
    reboot = power.reboot(world.actor, running)
    with monkeypatch.context() as hurried:
        hurried.setattr(steps, "is_busy", lambda instance: False)
        making = once(job_of("volume_create"), driver)
    assert (making.attempt, making.error, making.step) == (0, "", "hand_over")
    assert not Job.objects.filter(kind="volume_attach").exists()
    work(reboot, driver)
    assert work_through(making, driver).state == "done"
    assert_volumes_sound(driver)


def test_a_volume_outlives_the_instance_that_it_is_made_for(api, world, running, driver):
    made = api.post("/v4/volumes", {"label": "data", "compute_id": running.pk}).json()
    work(instances.delete(world.actor, running), driver)
    assert api.get(at(made["id"])).json()["compute_id"] is None
    assert work(job_of("volume_create"), driver).state == "done"
    assert api.get(at(made["id"])).json()["status"] == "active"
    assert not Job.objects.filter(kind="volume_attach").exists()
    assert_volumes_sound(driver)


def test_a_volume_whose_plugging_in_fails_is_there_and_detached(api, world, running, driver):
    made = api.post("/v4/volumes", {"label": "data", "compute_id": running.pk}).json()
    assert work(job_of("volume_create"), driver).state == "done"
    driver.before = failing_at(len(driver.calls), Refused("No room."), times=1)
    assert work(job_of("volume_attach"), driver).state == "failed"
    shown = api.get(at(made["id"])).json()
    assert (shown["status"], shown["compute_id"]) == ("active", None)
    assert not VolumeDevice.objects.exists()
    assert_volumes_sound(driver)


# --- deleting what is at work --------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["volume_create", "volume_clone", "volume_resize", "volume_detach"])
def test_a_volume_is_deleted_after_its_running_job(what, api, world, running, driver):
    volume, before = begin(api, world, driver, what, running)

    assert api.delete(at(volume)).json() == {}

    assert api.get(at(volume)).status_code == 404
    deletion = once(job_of("volume_delete"), driver)
    assert event_of("volume_delete").status == "started"
    made = what in ("volume_create", "volume_clone")
    assert work(before, driver).state == ("failed" if made else "done")
    if made:
        assert event_of(what).message == "The volume was deleted."
    assert work(deletion, driver).state == "done"
    assert volume_name(volume.pk) not in driver.volumes
    assert not plugged(driver, running)
    assert_volumes_sound(driver)


def test_a_volume_is_deleted_though_it_could_not_be_detached(api, world, running, driver):
    volume, leaving = begin(api, world, driver, "volume_detach", running)
    api.delete(at(volume))
    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    assert work(leaving, driver).state == "failed"
    assert work(job_of("volume_delete"), driver).state == "done"
    assert (plugged(driver, running), driver.volumes) == (set(), {})


def test_an_original_is_deleted_when_its_copy_is_made(api, world, driver):
    volume = volume_of(world, driver)
    copy = api.post(at(volume, "clone"), {"label": "copy"}).json()
    assert api.delete(at(volume)).status_code == 200
    once(job_of("volume_delete"), driver)
    assert volume_name(volume.pk) in driver.volumes
    assert work(job_of("volume_clone"), driver).state == "done"
    assert work(job_of("volume_delete"), driver).state == "done"
    assert driver.volumes.keys() == {volume_name(copy["id"])}


def test_a_volume_made_for_an_instance_that_is_off_can_be_deleted_at_once(api, world, driver):
    off = deployed(world, driver, running=False)
    made = api.post("/v4/volumes", {"label": "data", "compute_id": off.pk}).json()
    assert api.delete(at(made["id"])).status_code == 200
    assert work(job_of("volume_create"), driver).state == "failed"
    assert work(job_of("volume_delete"), driver).state == "done"
    assert (driver.volumes, VolumeDevice.objects.count()) == ({}, 0)


def test_a_region_is_not_left_with_a_volume_that_is_being_made(api, world, running):
    RegionFactory(id="us-other", capabilities=["Computes"])
    api.post("/v4/volumes", {"label": "data", "compute_id": running.pk})
    refused = api.post(f"/v4/compute/instances/{running.pk}/migrate", {"region": "us-other"})
    assert "Volumes are attached to the compute: detach them first." in errors(refused)["region"]


# --- what a release before has begun -------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["make", "plug"])
def test_a_job_of_a_release_before_plugs_the_volume_that_it_made_for_its_instance(step, api, running, driver):
    made = api.post("/v4/volumes", {"label": "data", "compute_id": running.pk}).json()
    job = job_of("volume_create")
    data = VolumeData(volume_id=made["id"], attach=True).to_json()
    Job.objects.filter(pk=job.pk).update(instance=running, data=data, step=step)
    if step == "plug":
        driver.create_volume(VolumeSpec(volume_name(made["id"]), "us-test", 20, "nvme"))

    assert work(job, driver).state == "done"

    assert plugged(driver, running) == {volume_name(made["id"])}
    assert event_of("volume_attach").status == "notification"
    assert_volumes_sound(driver)


@pytest.mark.parametrize("fails", [False, True])
def test_a_detachment_of_a_release_before_shows_the_volume_where_it_is_until_it_is_done(
    fails, api, world, running, driver
):
    volume, job = begin(api, world, driver, "volume_detach", running)
    VolumeDevice.objects.create(config=running.configs.get(), slot="sdc", volume=volume)
    Volume.objects.filter(pk=volume.pk).update(instance=running)
    Job.objects.filter(pk=job.pk).update(data=VolumeData(volume_id=volume.pk).to_json())
    if fails:
        driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)

    assert work(job, driver).state == ("failed" if fails else "done")

    assert api.get(at(volume)).json()["compute_id"] == (running.pk if fails else None)
    assert VolumeDevice.objects.count() == fails
    assert_volumes_sound(driver)
