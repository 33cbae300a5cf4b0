"""After every job the rows agree with the hypervisor: power, disks, sizes, addresses and volumes.

Each kind of job runs with a volume that no profile names. Each call fails once and kills the worker once. Other
tests remove the job's objects at the moment of the failure.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import DriverError, Ended, Power, Refused, VolumeSpec
from compute.jobs.data import BootData
from compute.jobs.definition import KINDS
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Backup, Config, Image, Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.backups.backups import enable, snapshot
from compute.services.instances.rescue import rescue
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from tests.compute.memory_driver import CountingDriver, MemoryDriver, dying_once_at, failing_at
from tests.compute.run_jobs import work, work_through
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed, volume_of
from tests.compute.worker.stages import Stage
from tests.world import World

pytestmark = pytest.mark.django_db

OF_INSTANCES = [name for name, kind in KINDS.items() if kind.during is not None and name != "delete"]
"""The kinds that change the power of an instance that is kept."""


class StageWithLooseVolume(Stage):
    """A stage in which the job's instance has a volume that no profile names."""

    def __init__(self, kind: str, world: World) -> None:
        super().__init__(kind, world)
        for instance in Instance.objects.filter(jobs__finished_at=None, jobs__isnull=False):
            add_loose_volume(instance, self.driver)


def add_loose_volume(instance: Instance, driver: MemoryDriver) -> Volume:
    """Attach a volume that no profile names. If the machine is on, it has the volume."""
    volume = Volume.objects.create(
        account_id=instance.account_id, region_id=instance.region_id, instance=instance, status="active",
        label=f"loose-{instance.pk}", size=20,
    )  # fmt: skip
    name = volume_name(volume.pk)
    driver.volumes[name] = VolumeSpec(name, volume.region_id, volume.size, volume.hardware_type)
    if driver.power(machine_name(instance.pk)) is Power.ON:
        driver.machines[machine_name(instance.pk)]["plugged"][name] = volume.label
    return volume


def assert_agree(driver: MemoryDriver) -> None:
    """Check that each machine that is on has the volumes, the size and the addresses that its instance shows."""
    for instance in Instance.objects.select_related("type"):
        machine = machine_name(instance.pk)
        power = driver.power(machine)
        assert (instance.status == "running") == (power is Power.ON)
        if power is Power.ABSENT:
            assert instance.status == "offline"
            continue
        there = driver.machines[machine]
        assert (there["memory"], there["vcpus"]) == (instance.type.memory, instance.type.vcpus)
        shown = {volume_name(pk) for pk in Volume.objects.filter(instance=instance).values_list("pk", flat=True)}
        assert driver.plugged(machine).keys() <= shown
        if power is Power.ON:
            assert driver.plugged(machine).keys() == shown
            assert list(there["boot"].ipv4) == instance.ipv4
    assert {volume_name(each.pk): each.size for each in Volume.objects.all()} == {
        name: spec.size for name, spec in driver.volumes.items()
    }


@pytest.mark.parametrize("kind", OF_INSTANCES)
def test_the_rows_agree_after_every_end_of_a_job(kind, world, settings):
    """After success, after a death at any call, and after a lasting failure at any call."""
    settings.JOB_ATTEMPTS = 2
    stage = StageWithLooseVolume(kind, world)
    lasting = settings.JOB_ATTEMPTS + 1
    for call in stage.calls():
        for moment, strike in (
            ("after", dying_once_at(call)),
            ("before", failing_at(call, Refused("Not possible."), times=lasting)),
            ("after", failing_at(call, DriverError("The host does not answer."), times=lasting)),
        ):
            with stage.again() as (job, driver):
                setattr(driver, moment, strike)
                work_through(job, CountingDriver(driver))
                assert_agree(driver)


# --- things that are gone ---------------------------------------------------------------------------------------


def lose_machines(driver: MemoryDriver) -> None:
    driver.machines.clear()


def lose_storage(driver: MemoryDriver) -> None:
    """Delete all disks, volumes and archives. The machines stay."""
    for machine in driver.machines.values():
        machine["disks"].clear()
        machine["plugged"].clear()
    for stored in (driver.volumes, driver.archives, driver.contents):
        stored.clear()


def lose_rows(driver: MemoryDriver) -> None:
    """Delete our rows of instances, backups and images. The machines stay."""
    Instance.objects.all().delete()
    Backup.objects.all().delete()
    Image.objects.filter(number__isnull=False).delete()


LOSSES = [lose_machines, lose_storage, lose_rows]


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_ends_if_its_objects_are_gone(kind, lose, world, settings):
    settings.JOB_ATTEMPTS = 2
    stage = Stage(kind, world)
    for call in stage.calls():
        for moment in ("before", "after"):
            with stage.again() as (job, driver):
                setattr(driver, moment, losing_at(call, lose, driver))

                work_through(job, CountingDriver(driver))

                assert job.finished_at is not None
                assert not Event.objects.filter(status__in=["scheduled", "started"]).exists()
                for instance in Instance.objects.all():
                    assert instance.status in Instance.SETTLED
                    if driver.power(machine_name(instance.pk)) is Power.ABSENT and is_of(job, instance):
                        assert instance.status == "offline"
                connection.check_constraints()


def losing_at(call: int, lose: Callable, driver: MemoryDriver) -> Callable[[int, str], None]:
    """Return a hook that removes something at this call, and refuses the call."""

    def strike(number: int, name: str) -> None:
        if number == call:
            lose(driver)
            raise Refused("Not possible.")

    return strike


def is_of(job: Job, instance: Instance) -> bool:
    return job.instance_id == instance.pk


# --- volumes that no profile names ------------------------------------------------------------------------------


@pytest.fixture
def running(world, driver) -> Instance:
    return deployed(world, driver)


@pytest.fixture
def loose(world, driver, running) -> Volume:
    """A volume that a client attached, until the next boot."""
    volume = volume_of(world, driver)
    place = Place(compute_id=running.pk, persist_across_boots=False)
    attaching.attach(world.actor, volume, place)
    work(Job.objects.get(kind="volume_attach", finished_at=None), driver)
    return Volume.objects.get(pk=volume.pk)


def boot(world: World, driver: MemoryDriver, instance: Instance) -> Job:
    job = enqueue("boot", instance, world.actor, data=BootData(config_id=instance.configs.earliest("pk").pk))
    return work(job, driver)


def test_it_stays_attached_while_the_machine_is_off_and_is_detached_by_the_boot(world, driver, running, loose):
    work(enqueue("shutdown", running, world.actor), driver)
    loose.refresh_from_db()
    assert loose.instance == running

    boot(world, driver, running)

    loose.refresh_from_db()
    assert loose.instance is None
    assert Event.objects.get(action="volume_detach").entity_id == loose.pk
    assert_agree(driver)


def test_a_boot_that_fails_leaves_it_attached(world, driver, running, loose):
    work(enqueue("shutdown", running, world.actor), driver)
    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)

    assert boot(world, driver, running).state == "failed"

    loose.refresh_from_db()
    assert loose.instance == running


def test_after_an_outage_of_its_host_the_watchdogs_boot_detaches_it(world, driver, running, loose):
    driver.fall(machine_name(running.pk), Ended.HOST)
    Instance.objects.filter(pk=running.pk).update(updated=Now() - timedelta(minutes=1))

    assert watch(driver) == 1
    work(running.jobs.get(finished_at=None), driver)

    loose.refresh_from_db()
    assert loose.instance is None
    assert_agree(driver)


def test_a_rescue_without_it_detaches_it(world, driver, running, loose):
    work(rescue(world.actor, running), driver)
    loose.refresh_from_db()
    assert loose.instance is None


def test_a_volume_that_a_profile_names_stays_attached_though_another_is_booted(world, driver, running):
    volume = volume_of(world, driver)
    other = Config.objects.create(instance=running, label="other")
    work(enqueue("shutdown", running, world.actor), driver)
    attaching.attach(world.actor, volume, Place(compute_id=running.pk, config_id=other.pk))
    work(Job.objects.get(kind="volume_attach", finished_at=None), driver)

    boot(world, driver, running)

    volume.refresh_from_db()
    assert volume.instance == running


def test_a_new_volume_that_waits_to_be_attached_survives_a_boot(world, driver, running):
    """The volume was created for an instance that was busy."""
    reboot = enqueue("reboot", running, world.actor, data=BootData(config_id=running.configs.get().pk))
    made = volumes.create(world.actor, volumes.VolumeSpec(label="new", compute_id=running.pk))
    VolumeDevice.objects.filter(volume=made).delete()

    work_through(reboot, driver)

    made.refresh_from_db()
    assert made.instance == running
    assert_agree(driver)


def test_a_volume_that_cannot_be_plugged_in_again_is_detached(world, driver, running, loose):
    """The detachment failed, and the machine was deleted meanwhile."""
    job = attaching.detach(world.actor, loose)
    driver.before = losing_at(len(driver.calls), lose_machines, driver)

    work(job, driver)

    assert job.state == "failed"
    loose.refresh_from_db()
    assert loose.instance is None


def test_an_instance_that_shows_running_without_a_machine_is_offline_after_any_job(world, driver, running):
    enable(world.actor, running)
    snapshot(world.actor, running, "none")
    lose_machines(driver)

    work(Job.objects.get(kind="snapshot", finished_at=None), driver)

    running.refresh_from_db()
    assert running.status == "offline"
