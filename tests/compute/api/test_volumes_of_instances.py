"""The volumes of an instance while the instance boots, changes, or is deleted."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Refused
from compute.machine_names import machine_name
from compute.models import Instance, Job
from compute.models.volumes import volume_name
from compute.services.instances import instances, rebuild
from compute.services.instances.rebuild import RebuildSpec
from compute.services.volumes import attachments
from tests.compute.api.volumes import VOLUMES, at, event_of, finish, plugged, slots
from tests.compute.memory_driver import MemoryDriver, dying_once_at
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import volume_of
from tests.factories import DiskFactory, InstanceTypeFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db


def reboot(api, instance: Instance) -> None:
    assert api.post(f"/v4/compute/instances/{instance.pk}/reboot").status_code == 200


def refusing(driver: MemoryDriver, call: str) -> Callable[[int, str], None]:
    def refuse(number: int, name: str) -> None:
        if name == call:
            raise Refused("It does not boot.")

    return refuse


def act(path: str, **body: Any) -> Callable[..., None]:
    """Return a function that sends a request to the instance, and runs its job to the end."""

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


# --- boots ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("boot", BOOTS)
def test_a_boot_detaches_temporary_volumes_only(boot, api, world, running, volume, driver):
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
    event = Event.objects.get(action="volume_detach")
    assert (event.entity_id, event.message, event.username) == (volume.pk, attachments.LEFT_BEHIND, "")


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


def test_a_disk_in_the_slot_of_a_volume_leaves_it_attached(api, world, off, driver):
    mine = volume_of(world, driver, instance=off)
    config = off.configs.get()
    disk = DiskFactory(instance=off)
    path = f"/v4/compute/instances/{off.pk}/configs/{config.pk}"
    assert api.put(path, {"devices": {"sdc": {"disk_id": disk.pk}}}).status_code == 200
    assert slots(off) == {}
    assert api.get(at(mine)).json()["compute_id"] == off.pk
