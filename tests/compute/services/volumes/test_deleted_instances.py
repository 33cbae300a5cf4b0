"""Volumes in creation whose instance is deleted: they are created, and attached nowhere.

This holds for every order of requests, steps and jobs.
"""

from collections.abc import Callable
from functools import partial

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import DONE, DriverError, Power, Progress, Refused
from compute.machine_names import machine_name
from compute.models import Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.instances import instances
from compute.services.volumes import attaching, volumes
from compute.services.volumes.volumes import VolumeSpec
from compute.worker import engine
from tests.compute.memory_driver import CountingDriver, MemoryDriver, WorkerDied, failing_at
from tests.compute.worker.scenarios import deployed
from tests.compute.worker.soundness import assert_volumes_sound
from tests.world import World

pytestmark = pytest.mark.django_db

GONE = "The compute was deleted."


@pytest.fixture(params=[True, False], ids=["on", "off"])
def instance(request, world, driver) -> Instance:
    return deployed(world, driver, running=request.param)


@pytest.fixture
def volume(world, instance) -> Volume:
    """A volume in creation for the instance, in the profile that the instance boots."""
    return volumes.create(world.actor, VolumeSpec(label="data", compute_id=instance.pk))


@pytest.fixture
def begun(volume) -> int:
    """The id before the volume's first event."""
    return Event.objects.order_by("pk").values_list("pk", flat=True).get(action="volume_create") - 1


def turn(driver: MemoryDriver | CountingDriver, *, newest_first: bool = False) -> bool:
    """Let a worker run each unfinished job, as if its wait or lease were over. Returns whether there was one."""
    due = list(Job.objects.filter(finished_at=None).order_by("-pk" if newest_first else "pk"))
    for job in due:
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
        try:
            engine.run(job.pk, driver)
        except WorkerDied:
            continue
    return bool(due)


def work_all(driver: MemoryDriver | CountingDriver, *, newest_first: bool = False) -> None:
    for _ in range(40):
        if not turn(driver, newest_first=newest_first):
            return
    raise AssertionError(f"these jobs do not end: {list(Job.objects.filter(finished_at=None))}")


def deleting_at(world: World, instance: Instance, call: str, times: int = 1) -> Callable[[int, str], None]:
    """Return a driver hook that deletes the instance around a call. The worker goes on."""
    left = [times]

    def hook(number: int, name: str) -> None:
        if name == call and left[0]:
            left[0] -= 1
            instances.delete(world.actor, Instance.objects.get(pk=instance.pk))

    return hook


def assert_made_and_detached(instance: Instance, volume: Volume, driver: MemoryDriver, begun: int) -> None:
    assert not Instance.objects.filter(pk=instance.pk).exists()
    assert driver.power(machine_name(instance.pk)) == Power.ABSENT
    volume.refresh_from_db()
    assert (volume.status, volume.instance_id) == ("active", None)
    assert not VolumeDevice.objects.exists()
    assert_volumes_sound(driver)
    events = Event.objects.filter(pk__gt=begun).order_by("pk")
    unended = events.filter(status__in=["scheduled", "started", "failed"])
    assert not unended.exclude(action="volume_attach", status="failed").exists(), (
        "an attachment may have been ended"
    )
    (made,) = events.filter(action="volume_create")
    assert (made.status, made.percent_complete, made.message) == ("finished", 100, "")
    detached = events.filter(action="volume_detach")
    assert len(detached) == (0 if unended.exists() else 1), "what could not be attached is not detached"
    for event in detached:
        assert (event.status, event.message) == ("notification", GONE)
        assert (event.entity_id, event.secondary_id) == (volume.pk, str(instance.pk))
    assert events.get(action="compute_delete").status == "finished"
    assert events.filter(action="volume_attach").count() <= 1
    assert not Job.objects.filter(state="failed").exclude(kind="volume_attach").exists()


@pytest.mark.parametrize("newest_first", [False, True], ids=["the volume's job first", "the deletion first"])
class TestWhileTheJob:
    def test_is_scheduled(self, newest_first, world, instance, volume, begun, driver):
        instances.delete(world.actor, instance)
        work_all(driver, newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)
        assert not Event.objects.filter(action="volume_attach").exists(), "it never was"
        assert "plug" not in driver.calls

    def test_waits_for_the_hypervisor(self, newest_first, world, instance, volume, begun, driver, monkeypatch):
        answers = iter([Progress(40), Progress(70)])
        create = driver.create_volume
        monkeypatch.setattr(driver, "create_volume", lambda spec: (create(spec), next(answers, DONE))[1])
        turn(driver)
        assert Event.objects.get(action="volume_create").percent_complete > 0
        instances.delete(world.actor, instance)
        work_all(driver, newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)

    @pytest.mark.parametrize("moment", ["before", "after"])
    @pytest.mark.parametrize("call", ["create_volume", "plug", "power"])
    def test_runs(self, call, moment, newest_first, world, instance, volume, begun, driver):
        """The request comes while a worker makes this call. The last call is that of the job's end."""
        setattr(driver, moment, deleting_at(world, instance, call))
        work_all(CountingDriver(driver), newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)

    @pytest.mark.parametrize("moment", ["before", "after"])
    @pytest.mark.parametrize("call", ["create_volume", "plug", "power"])
    def test_loses_its_worker(self, call, moment, newest_first, world, instance, volume, begun, driver):
        delete = deleting_at(world, instance, call)

        def die(number: int, name: str) -> None:
            if name == call:
                setattr(driver, moment, lambda number, name: None)
                delete(number, name)
                raise WorkerDied

        setattr(driver, moment, die)
        work_all(CountingDriver(driver), newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)

    def test_is_tried_again_after_a_failure(self, newest_first, world, instance, volume, begun, driver):
        driver.before = failing_at(len(driver.calls), times=2)
        turn(driver)
        assert Job.objects.get(kind="volume_create").error
        instances.delete(world.actor, instance)
        work_all(driver, newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)

    def test_cannot_plug_it_in(self, newest_first, world, instance, volume, begun, driver):
        def unplugged(number: int, name: str) -> None:
            if name == "plug":
                raise DriverError("The guest does not answer.")

        driver.before = unplugged
        turn(driver)
        instances.delete(world.actor, instance)
        driver.before = lambda number, name: None
        work_all(driver, newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)

    def test_has_ended(self, newest_first, world, instance, volume, begun, driver):
        work_all(driver)
        instances.delete(world.actor, instance)
        work_all(driver, newest_first=newest_first)
        assert_made_and_detached(instance, volume, driver, begun)
        assert Event.objects.filter(action="volume_attach").count() == 1

    def test_is_one_of_several(self, newest_first, world, instance, volume, begun, driver):
        """The instance has a volume already, and another volume belongs to no instance."""
        work_all(driver)
        alone = volumes.create(world.actor, VolumeSpec(label="alone", region=world.region.pk))
        second = volumes.create(world.actor, VolumeSpec(label="second", compute_id=instance.pk))
        instances.delete(world.actor, instance)
        work_all(driver, newest_first=newest_first)
        shown = Volume.objects.values_list("pk", "status", "instance")
        assert set(shown) == {(each.pk, "active", None) for each in (volume, alone, second)}
        assert_volumes_sound(driver)
        detached = Event.objects.filter(action="volume_detach").values_list("entity_label", flat=True)
        assert sorted(detached) == ["data", "second"]


class TestOneThatCannotBeMade:
    def test_is_gone_with_a_true_event(self, world, instance, volume, driver):
        instances.delete(world.actor, instance)
        driver.before = partial(refuse, "create_volume", "There is no room.")
        work_all(driver)
        assert not Volume.objects.exists()
        assert not Instance.objects.filter(pk=instance.pk).exists()
        failed = Event.objects.get(action="volume_create")
        assert (failed.status, failed.message) == ("failed", "There is no room.")
        assert Event.objects.get(action="compute_delete").status == "finished"
        assert volume_name(volume.pk) not in driver.volumes


def test_a_volume_that_was_not_attached_survives_its_instance(world, instance, volume, driver):
    """The deletion comes while the attachment is being undone."""

    def hook(number: int, name: str) -> None:
        if name == "plug":
            raise Refused("The slot is not valid.")
        if name == "unplug":
            driver.before = lambda number, name: None
            instances.delete(world.actor, Instance.objects.get(pk=instance.pk))

    driver.before = hook
    work_all(driver)
    volume.refresh_from_db()
    assert (volume.status, volume.instance_id) == ("active", None)
    assert_volumes_sound(driver)
    assert Event.objects.get(action="volume_create").status == "finished"
    assert Event.objects.get(action="volume_attach").message == "The slot is not valid."


def refuse(call: str, reason: str, number: int, name: str) -> None:
    if name == call:
        raise Refused(reason)


def test_the_customer_sees_it_come_to_be(world, instance, volume, driver):
    """The deletion of the instance leaves the volume `creating`. It can be used as soon as it exists."""
    instances.delete(world.actor, instance)
    assert Volume.objects.get().status == "creating"
    work_all(driver)
    other = deployed(world, driver, label="other")
    attaching.attach(world.actor, volume, volumes.Place(compute_id=other.pk))
    work_all(driver)
    assert volume_name(volume.pk) in driver.plugged(machine_name(other.pk))


def test_a_job_that_staff_cancelled_is_undone_all_the_same(world, instance, volume, driver):
    from compute.jobs.queue import cancel

    assert cancel(Job.objects.get(kind="volume_create"))
    instances.delete(world.actor, instance)
    work_all(driver)
    assert not Volume.objects.exists()
    assert not driver.volumes
    assert Event.objects.get(action="volume_create").status == "failed"
    assert not Instance.objects.filter(pk=instance.pk).exists()
