"""Many requests for the same thing at once, in real threads on a real database."""

from typing import Any

import pytest

from accounts.models import Event
from compute.drivers.base import Progress
from compute.models import Address, Disk, Image, Instance, Job
from compute.services.common.disk_space import taken
from compute.services.images import images
from compute.services.instances import disks, instances, power
from compute.services.instances.rebuild import RebuildSpec, rebuild
from compute.worker import engine
from config.errors import DomainError
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed, with_disk
from tests.factories import ImageFactory
from tests.racing import RACERS, race
from tests.world import STRONG

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_of_many_simultaneous_requests_gets_the_instance(world, driver):
    instance = world.create()
    work(instance.jobs.get(), driver)

    def request(number: int) -> Job:
        mine = Instance.objects.get(pk=instance.pk)
        return (power.reboot, power.shutdown)[number % 2](world.actor, mine)

    results = race(request)

    assert sum(isinstance(result, Job) for result in results) == 1
    assert all(isinstance(result, (Job, DomainError)) for result in results)
    assert Job.objects.filter(finished_at=None).count() == 1
    assert Event.objects.filter(status="scheduled").count() == 1


def test_one_of_many_simultaneous_workers_runs_each_step_once(world, driver):
    job = world.create().jobs.get()

    race(lambda number: engine.run(job.pk, driver))

    job.refresh_from_db()
    assert job.state == "done"
    assert driver.calls == ["define", "create_disk", "create_disk", "start"]


def test_no_two_instances_get_one_address_and_none_is_lost(world):
    Address.objects.filter(public=True, pk__in=Address.objects.filter(public=True)[RACERS - 2 :]).delete()

    results = race(lambda number: world.create(label=f"racer-{number}"))

    made = [result for result in results if isinstance(result, Instance)]
    assert len(made) == RACERS - 2
    assert len({instance.ipv4[0] for instance in made}) == RACERS - 2
    assert Instance.objects.count() == RACERS - 2, "a create that finds no address leaves nothing"
    assert Job.objects.count() == RACERS - 2


def test_one_of_many_simultaneous_creates_gets_the_label(world):
    from django.db import IntegrityError

    def create(number: int) -> Any:
        try:
            return world.create(label="the-same")
        except IntegrityError as error:
            return error

    results = race(create)

    assert sum(isinstance(result, Instance) for result in results) == 1
    assert Address.objects.filter(instance__isnull=False).count() == 1


def test_a_deletion_and_the_job_it_displaces_never_work_at_the_same_time(world):
    driver = MemoryDriver()
    driver.create_disk = lambda machine, disk, source: Progress(percent=10, wait=0)
    instance = world.create()

    def act(number: int) -> Any:
        if number == 0:
            return instances.delete(world.actor, Instance.objects.get(pk=instance.pk))
        for job in Job.objects.filter(finished_at=None):
            engine.run(job.pk, driver)
        return None

    race(act)

    for job in Job.objects.filter(finished_at=None).order_by("pk"):
        work(job, driver)
    engine.sweep()
    for job in Job.objects.filter(finished_at=None):
        work(job, driver)
    assert not Instance.objects.exists()
    assert driver.machines == {}
    assert not Address.objects.filter(instance__isnull=False).exists()


def test_racing_disks_never_take_more_than_the_type_has(world, driver):
    """Creates, clones and resizes run at once. Each would fit alone, and one of them gets the instance."""
    first = with_disk(world, driver, size=10000)
    instance = first.instance

    def request(number: int) -> Any:
        mine, disk = Instance.objects.get(pk=instance.pk), Disk.objects.get(pk=first.pk)
        if number % 3 == 0:
            return disks.create(world.actor, mine, disks.DiskSpec(size=15600))
        return disks.clone(world.actor, disk) if number % 3 == 1 else disks.resize(world.actor, disk, 25600)

    results = race(request)

    assert sum(isinstance(result, Disk) for result in results) == 1
    assert {str(result) for result in results if isinstance(result, DomainError)} == {"Compute busy."}
    assert taken(instance) <= instance.type.disk
    work(Job.objects.get(finished_at=None), driver)
    spec = disks.DiskSpec(size=15600)
    results = race(lambda number: disks.create(world.actor, Instance.objects.get(pk=instance.pk), spec))
    if any(isinstance(result, Disk) for result in results):
        work(Job.objects.get(finished_at=None), driver)
    assert sum(instance.disks.values_list("size", flat=True)) <= instance.type.disk


def test_a_rebuild_and_a_deletion_of_its_image_exclude_each_other(world, driver):
    instance = deployed(world, driver)
    image = ImageFactory(id="private/70", number=70, account=world.account, is_public=False)

    def request(number: int) -> Any:
        if number % 2:
            return images.delete(world.actor, Image.objects.get(pk=image.pk))
        spec = RebuildSpec(image=image.pk, root_pass=STRONG)
        return rebuild(world.actor, Instance.objects.get(pk=instance.pk), spec)

    race(request)

    image.refresh_from_db()
    rebuilt = Instance.objects.get(pk=instance.pk).status == "rebuilding"
    assert image.status == ("available" if rebuilt else "deleting")
