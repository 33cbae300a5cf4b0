"""Holds for every kind of job, without knowing any: each step twice, a failure and a death everywhere.

A new kind is covered by being in the catalogue; one that starts from an unusual state needs a line in `STAGES`.
"""

from collections.abc import Iterator

import pytest
from django.db.models import Sum

from accounts.models import Event, Grant
from compute.drivers.base import DriverError, Power, Refused
from compute.jobs.definition import KINDS
from compute.machine_names import disk_name, machine_name
from compute.models import Address, Backup, Config, Disk, Host, Image, Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.images import files
from compute.services.removal import remove
from compute.worker import steps
from tests.compute.memory_driver import MemoryDriver, dying_once_at, failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import staged
from tests.world import STRONG, World

pytestmark = pytest.mark.django_db

TRUE_STATUS = {Power.ON: ("running",), Power.OFF: ("offline", "stopped")}


def each_effect(kind: str, world: World) -> Iterator[tuple[Job, MemoryDriver, int]]:
    """The kind staged anew for each effect it has on the hypervisor: the job, its driver, the effect's number.

    How many there are is seen by letting a job run with no fault.
    """
    rehearsal = MemoryDriver()
    job = staged(kind, world, rehearsal)
    first = len(rehearsal.calls)
    work(job, rehearsal)
    for offset in range(len(rehearsal.calls) - first):
        for instance in Instance.objects.all():
            remove(instance)
        Event.objects.all().delete()
        driver = MemoryDriver()
        job = staged(kind, world, driver)
        yield job, driver, len(driver.calls) + offset


def assert_sound(job: Job, driver: MemoryDriver, instance_id: int | None) -> None:
    """Nothing leaked, nothing half-made, and each status is what the driver says."""
    assert job.encrypted is None
    assert not Event.objects.filter(status__in=["scheduled", "started"]).exists()
    assert archives_kept() <= driver.archives.keys() <= archives_kept() | archives_going()
    assert not files.numbers()
    assert_volumes_sound(driver)
    assert driver.machines.keys() == {machine_name(pk) for pk in Instance.objects.values_list("pk", flat=True)}
    for host in Host.objects.all():
        held = host.reservations.aggregate(memory=Sum("memory"), vcpus=Sum("vcpus"), disk=Sum("disk"))
        used = {"memory": host.memory_used, "vcpus": host.vcpus_used, "disk": host.disk_used}
        assert used == {name: value or 0 for name, value in held.items()}
    for instance in Instance.objects.all():
        assert_instance_sound(instance, driver)
    if instance_id is not None and not Instance.objects.filter(pk=instance_id).exists():
        assert not Address.objects.filter(instance_id=instance_id).exists()
        assert not Disk.objects.filter(instance_id=instance_id).exists()
        assert not Config.objects.filter(instance_id=instance_id).exists()
        assert not Grant.objects.filter(entity_type="compute", entity_id=instance_id).exists()


def assert_instance_sound(instance: Instance, driver: MemoryDriver) -> None:
    machine = machine_name(instance.pk)
    held = Address.objects.filter(instance=instance)
    assert instance.status in TRUE_STATUS[driver.power(machine)]
    assert driver.machines[machine]["host"] == str(instance.host.uuid)
    assert sorted(held.values_list("address", flat=True)) == sorted(instance.ipv4)
    assert driver.disks(machine) == {
        disk_name(instance.pk, pk) for pk in instance.disks.values_list("pk", flat=True)
    }
    assert not instance.disks.exclude(status="ready").exists()
    for disk in instance.disks.all():
        assert driver.machines[machine]["disks"][disk_name(instance.pk, disk.pk)].size == disk.size
    assert sum(instance.disks.values_list("size", flat=True)) <= instance.type.disk


def assert_volumes_sound(driver: MemoryDriver) -> None:
    """Each volume is there, as large as it shows, and plugged into the machine of its instance or into none."""
    volumes = list(Volume.objects.all())
    there = {name: spec.size for name, spec in driver.volumes.items() if name not in volumes_going()}
    assert there == {volume_name(volume.pk): volume.size for volume in volumes}
    assert {volume.status for volume in volumes} <= {Volume.Status.ACTIVE}
    assert_volumes_in_place(driver)


def assert_volumes_in_place(driver: MemoryDriver) -> None:
    """What holds in the middle of jobs too: no profile or machine has a volume that is not its instance's."""
    for device in VolumeDevice.objects.select_related("volume", "config"):
        assert device.volume.instance_id == device.config.instance_id
    owners = {volume_name(volume.pk): volume.instance_id for volume in Volume.objects.all()}
    for name in driver.machines:
        for plugged in driver.plugged(name):
            assert machine_name(owners[plugged]) == name


def volumes_going() -> set[str]:
    """What jobs of their own are about to delete."""
    jobs = Job.objects.filter(kind="volume_delete", finished_at=None)
    return {volume_name(pk) for pk in jobs.values_list("data__volume", flat=True)}


def archives_kept() -> set[str]:
    """What our tables say is kept: the account's images, and the disks of finished backups."""
    images = Image.objects.filter(number__isnull=False, status="available")
    backups = Backup.objects.filter(status="successful")
    return {f"skerry-image-{number}" for number in images.values_list("number", flat=True)} | {
        disk["archive"] for disks in backups.values_list("disks", flat=True) for disk in disks if disk["archive"]
    }


def archives_going() -> set[str]:
    """What jobs of their own are about to delete: of backups that others have taken the place of."""
    jobs = Job.objects.filter(kind="delete_backups", finished_at=None)
    return {archive for data in jobs.values_list("data", flat=True) for archive in data["archives"]}


@pytest.mark.parametrize("kind", KINDS)
def test_ends_well(kind, world, driver):
    job = staged(kind, world, driver)
    instance_id = job.instance_id

    work(job, driver)

    assert job.state == "done", job.error
    assert Event.objects.filter(action=KINDS[kind].event, status="finished", percent_complete=100).exists()
    assert_sound(job, driver, instance_id)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_death_at_any_effect_changes_nothing_in_the_end(kind, moment, world):
    for job, driver, call in each_effect(kind, world):
        instance_id = job.instance_id
        setattr(driver, moment, dying_once_at(call))

        work(job, driver)

        assert job.state == "done", job.error
        assert_sound(job, driver, instance_id)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "error",
    [DriverError("The host does not answer."), Refused("Not possible."), KeyError("bug")],
    ids=lambda error: type(error).__name__,
)
def test_a_lasting_failure_at_any_effect_leaves_nothing_behind(kind, moment, error, world, settings):
    """It outlasts all attempts. An undo that has to make the same call is tried until that succeeds again."""
    for job, driver, call in each_effect(kind, world):
        instance_id = job.instance_id
        setattr(driver, moment, failing_at(call, error, times=settings.JOB_ATTEMPTS + 1))

        work(job, driver)

        assert_sound(job, driver, instance_id)
        if KINDS[kind].goal == driver.power(machine_name(instance_id)):
            assert job.state == "done", "what the driver confirms is not called a failure"
            continue
        assert job.state == "failed"
        failed = Event.objects.get(status="failed")
        assert failed.message
        assert "KeyError" not in failed.message


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_and_every_undo_may_run_twice(kind, world, driver):
    """Each step's `do` runs twice, then each `undo` twice: the second time finds its effect there, or gone."""
    from compute.worker.run import Run

    job = staged(kind, world, driver)
    instance_id = job.instance_id
    plan = KINDS[kind].plan(job.data)
    for step in plan:
        run = Run(Job.objects.get(pk=job.pk), KINDS[kind], driver)
        first, second = step.do(run), step.do(run)
        assert type(first) is type(second)
        while first is not None:
            if step.record:
                step.record(run)
            first = step.do(run)
        if step.record:
            step.record(run)
            step.record(run)
    for step in reversed(plan):
        if step.undo is None:
            return
        run = Run(Job.objects.get(pk=job.pk), KINDS[kind], driver)
        step.undo(run)
        step.undo(run)
    if plan[0].undo is steps.undefine:
        assert driver.power(machine_name(instance_id)) == Power.ABSENT


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_readable_while_it_lives_or_kept_when_it_ends(kind, world, driver):
    job = staged(kind, world, driver)
    live = Job.objects.filter(pk=job.pk).values().get()
    assert STRONG not in str({**live, "encrypted": bytes(live["encrypted"] or b"")})

    work(job, driver)

    assert Job.objects.get(pk=job.pk).encrypted is None
