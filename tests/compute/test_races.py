"""What happens when many want the same thing at once: real threads on a real database."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts.models import Event
from compute.drivers.base import Progress
from compute.jobs import engine
from compute.models import Address, Instance, Job
from compute.services import instances, power
from config.errors import DomainError
from tests.compute.jobs.memory import MemoryDriver
from tests.compute.jobs.work import work

pytestmark = pytest.mark.django_db(transaction=True)

RACERS = 12


def race(action: Callable[[int], Any]) -> list[Any]:
    """Let all racers loose at the same moment; returns what each returned or was refused with."""
    gate = threading.Barrier(RACERS)
    results: list[Any] = [None] * RACERS

    def racer(number: int) -> None:
        try:
            gate.wait()
            results[number] = action(number)
        except DomainError as refusal:
            results[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_racing_requests_exactly_one_gets_the_instance(world, driver):
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


def test_of_racing_runners_one_works_and_each_effect_happens_once(world, driver):
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


def test_of_racing_creates_with_one_label_one_is_made(world):
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
    driver.create_disk = lambda machine, disk: Progress(percent=10, wait=0)
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
