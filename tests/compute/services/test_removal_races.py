"""Instances that are deleted at once and share a host or a clone's job: no deadlock."""

import threading

import pytest
from django.db import connection, transaction

from compute.models import Instance, Job
from compute.services.instances import instances
from compute.services.instances.clones import CloneSpec, clone
from compute.worker import engine
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed
from tests.racing import RACERS, held_up, race
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def cloned(world: World, driver: MemoryDriver) -> tuple[Instance, Instance]:
    """An instance and its clone."""
    source = deployed(world, driver)
    target = clone(world.actor, source, CloneSpec())
    work(target.jobs.get(), driver)
    return Instance.objects.get(pk=source.pk), Instance.objects.get(pk=target.pk)


@pytest.mark.parametrize("which", [0, 1], ids=["source", "clone"])
def test_a_deletion_locks_the_clones_job_before_either_instance(world, driver, which):
    pair = cloned(world, driver)
    shared = Job.objects.get(kind="clone")
    deletion = instances.delete(world.actor, pair[which])

    def act() -> None:
        try:
            engine.run(deletion.pk, driver)
        finally:
            connection.close()

    worker = threading.Thread(target=act)
    with transaction.atomic():
        Job.objects.select_for_update(no_key=True).get(pk=shared.pk)
        worker.start()
        assert held_up()
        for instance in pair:
            Instance.objects.select_for_update(nowait=True).get(pk=instance.pk)
    worker.join()
    assert not Instance.objects.filter(pk=pair[which].pk).exists()


def test_sources_and_clones_of_one_host_that_are_deleted_at_once_all_go_at_the_first_try(world, driver):
    pairs = [cloned(world, driver) for _ in range(RACERS // 2)]
    jobs = [instances.delete(world.actor, instance).pk for pair in pairs for instance in pair]

    race(lambda number: engine.run(jobs[number], driver) or True)

    ends = Job.objects.filter(pk__in=jobs).values_list("state", "error", "attempt")
    assert set(ends) == {("done", "", 1)}
    world.host.refresh_from_db()
    assert world.host.memory_used == 0
