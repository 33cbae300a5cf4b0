"""The times of steps: each move of a job writes them, in the statement that moves it."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from compute.jobs import store
from compute.models import Instance, Job
from compute.services.instances import instances, power
from compute.worker import engine
from tests.compute.memory_driver import failing_at

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def running(world, driver) -> Instance:
    instance = world.create()
    engine.run(instance.jobs.get().pk, driver)
    instance.refresh_from_db()
    return instance


@pytest.fixture
def job(world, running) -> Job:
    """A reboot (a stop and a start) that has been at its first step for a minute."""
    return earlier(power.reboot(world.actor, running))


def earlier(job: Job) -> Job:
    """Return the job as if it had reached its present step a minute earlier."""
    Job.objects.filter(pk=job.pk).update(step_began=F("step_began") - MINUTE, run_at=Now())
    job.refresh_from_db()
    return job


def claimed(job: Job) -> Job:
    found = store.claim(job.pk)
    assert found is not None
    return found


def test_a_job_that_ended_has_the_time_of_each_step(job, driver):
    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert job.state == "done"
    assert job.step_seconds.keys() == {"stop", "start"}
    assert job.step_seconds["stop"] >= 60
    assert 0 <= job.step_seconds["start"] < job.step_seconds["stop"]


def test_the_time_of_a_step_goes_on_while_it_waits_and_is_tried_again(job):
    began = job.step_began
    store.postpone(claimed(job), 0)
    store.postpone(claimed(job), 0, error="No.", failed=True)
    store.advance(claimed(job), "stop", "active", percent=10)
    job.refresh_from_db()
    assert (job.step_began, job.step_seconds) == (began, {})


def test_a_step_that_is_left_is_timed_and_the_next_one_begins(job):
    began = job.step_began
    moved = store.advance(claimed(job), "start", "active")
    assert moved is not None
    assert moved.step_began > began
    assert [*moved.step_seconds] == ["stop"]


def test_an_undo_has_a_time_of_its_own(job, driver):
    moved = store.advance(claimed(job), "start", "active")
    assert moved is not None
    assert store.advance(moved, "start", "undoing") is not None
    earlier(job)
    Job.objects.filter(pk=job.pk).update(lease_until=None)
    undoing = store.advance(claimed(job), "stop", "undoing")
    assert undoing is not None
    assert undoing.step_seconds.keys() == {"stop", "start", "undo start"}
    assert undoing.step_seconds["undo start"] >= 60 > undoing.step_seconds["start"]


def test_a_failed_step_is_timed_until_it_was_given_up(job, driver, settings):
    settings.JOB_ATTEMPTS = 1
    driver.before = failing_at(len(driver.calls))
    for _ in range(4):
        Job.objects.filter(pk=job.pk).update(run_at=Now())
        engine.run(job.pk, driver)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.step_seconds.keys() == {"stop", "undo stop"}
    assert job.step_seconds["stop"] >= 60


def test_a_worker_without_the_lease_writes_no_step_time(job):
    lost = claimed(job)
    Job.objects.filter(pk=job.pk).update(fence=F("fence") + 1)
    assert store.advance(lost, "start", "active") is None
    job.refresh_from_db()
    assert job.step_seconds == {}


def test_no_time_is_negative_where_the_clock_was_set_back(job):
    Job.objects.filter(pk=job.pk).update(step_began=Now() + MINUTE)
    moved = store.advance(claimed(job), "start", "active")
    assert moved is not None
    assert moved.step_seconds == {"stop": 0}


def test_the_time_of_a_queued_deletion_begins_with_its_turn(job, world, running, driver):
    running.refresh_from_db()
    deletion = instances.delete(world.actor, running)
    earlier(deletion)
    engine.run(job.pk, driver)
    deletion.refresh_from_db()
    assert deletion.state == "active"
    assert Job.objects.filter(pk=deletion.pk, step_began__gt=Now() - MINUTE).exists()
