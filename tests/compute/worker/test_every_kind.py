"""Tests of all kinds of jobs at once: each step runs twice, and each call fails and dies.

A new kind is covered as soon as it is in the catalogue. A kind that starts from an unusual state needs a line
in `STAGES`.
"""

import json
from datetime import timedelta
from typing import cast

import pytest
from django.conf import settings
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Driver, DriverError, Power, Refused
from compute.jobs import parking
from compute.jobs.definition import KINDS
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job
from compute.services.hosts import maintenance
from compute.worker import engine, steps
from tests.compute.memory_driver import CountingDriver, MemoryDriver, dying_once_at, failing_at
from tests.compute.run_jobs import ROUNDS, work_through
from tests.compute.watching import watch
from tests.compute.worker import scenarios
from tests.compute.worker.scenarios import staged
from tests.compute.worker.soundness import assert_sound
from tests.compute.worker.stages import Stage
from tests.world import STRONG

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", KINDS)
def test_ends_well(kind, world, driver):
    job = staged(kind, world, driver)
    instance_id = job.instance_id
    assert json.loads(json.dumps(KINDS[kind].read(job.data).to_json())) == Job.objects.get(pk=job.pk).data

    work_through(job, driver)

    assert job.state == "done", job.error
    has_event = Event.objects.filter(action=KINDS[kind].event, status="finished", percent_complete=100).exists()
    assert has_event != (kind in scenarios.WITHOUT_EVENT)
    assert_sound(job, driver, instance_id)


RENAMED = [
    (kind.name, step.name, step.former_name) for kind in KINDS.values() for step in kind.steps if step.former_name
]


@pytest.mark.parametrize(("kind", "name", "former"), RENAMED)
def test_a_job_at_a_step_with_its_former_name_ends_well(kind, name, former, world, driver):
    from compute.worker.run import Run

    job = staged(kind, world, driver)
    data = KINDS[kind].read(job.data)
    for step in KINDS[kind].plan(data)[: KINDS[kind].position(name, data)]:
        run = Run(job, data, driver)
        while step.do(run) is not None:
            continue
        if step.persist:
            step.persist(run)
    Job.objects.filter(pk=job.pk).update(step=former)

    work_through(job, driver)

    assert job.state == "done", job.error
    assert_sound(job, driver, job.instance_id)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_death_at_any_call_changes_nothing_in_the_end(kind, moment, world):
    stage = Stage(kind, world)
    for call in stage.calls():
        with stage.again() as (job, driver):
            instance_id = job.instance_id
            setattr(driver, moment, dying_once_at(call))

            work_through(job, CountingDriver(driver))

            assert job.state == "done", job.error
            assert_sound(job, driver, instance_id)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "error",
    [DriverError("The host does not answer."), Refused("Not possible."), KeyError("bug")],
    ids=lambda error: type(error).__name__,
)
def test_a_lasting_failure_at_any_call_leaves_nothing_behind(kind, moment, error, world, settings):
    """The failure outlasts all attempts. An undo that must make the same call is retried until the call
    succeeds."""
    settings.JOB_ATTEMPTS = 2  # more attempts would test the same
    stage = Stage(kind, world)
    for call in stage.calls():
        with stage.again() as (job, driver):
            instance_id = job.instance_id
            setattr(driver, moment, failing_at(call, error, times=settings.JOB_ATTEMPTS + 1))

            work_through(job, CountingDriver(driver))

            assert_sound(job, driver, instance_id)
            if KINDS[kind].goal == driver.power(machine_name(instance_id)):
                assert job.state == "done", "what the driver confirms is not called a failure"
                continue
            if job.state == "done" and isinstance(error, Refused) and driver.calls[call] == "power":
                continue  # past the point of no return: the job's end polled until it got an answer
            assert job.state == "failed"
            if kind in scenarios.WITHOUT_EVENT:
                assert job.error
                continue
            failed = Event.objects.get(status="failed")
            assert failed.message
            assert "KeyError" not in failed.message


def cut_power_at(call: int, driver: MemoryDriver) -> None:
    """Cut the power of all hosts at this call."""
    hosts = [str(uuid) for uuid in Host.objects.values_list("uuid", flat=True)]

    def hook(number: int, name: str) -> None:
        if number == call:
            driver.cut_power(hosts)

    driver.before = hook


def run_while_away(job: Job, driver: MemoryDriver) -> None:
    """Run workers that are notified of the job again and again, more often than it has attempts."""
    for _ in range(settings.JOB_ATTEMPTS + 2):
        engine.run(job.pk, cast(Driver, CountingDriver(driver)))
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
    job.refresh_from_db()


def bring_back(job: Job, driver: MemoryDriver) -> None:
    """Let the hosts answer again, and run workers and the clock until no work is left."""
    driver.silent.clear()
    for _ in range(ROUNDS):
        Instance.objects.update(updated=Now() - timedelta(minutes=1))
        watch(driver)
        maintenance.keep_up()
        live = Job.objects.filter(finished_at=None)
        if not live:
            job.refresh_from_db()
            return
        for each in live:
            engine.run(each.pk, driver)
        live.update(run_at=Now(), lease_until=None)
    raise AssertionError(f"{Job.objects.filter(finished_at=None)} do not end")


def powers(driver: MemoryDriver) -> dict[str, Power]:
    return {name: driver.power(name) for name in driver.machines}


@pytest.mark.parametrize("kind", KINDS)
def test_a_power_cut_delays_it_and_its_machine_is_booted_again(kind, world, settings):
    settings.JOB_ATTEMPTS = 2  # more attempts would test the same
    stage = Stage(kind, world)
    with stage.again() as (job, driver):
        instance_id = job.instance_id
        bring_back(job, driver)
        undisturbed = powers(driver)
    for call in stage.different_calls():
        with stage.again() as (job, driver):
            cut_power_at(call, driver)
            run_while_away(job, driver)
            assert len(driver.unanswered) <= Host.objects.count(), "hosts known to be away are called"
            assert job.attempt <= 1
            if job.finished_at is None:
                assert job.waits_for is not None
                assert job.event is None or parking.MESSAGE in job.event.message
            bring_back(job, driver)

            assert job.state == "done", job.error
            assert powers(driver) == undisturbed
            assert not Event.objects.filter(message__contains=parking.MESSAGE).exists()
            assert_sound(job, driver, instance_id)


ENDS_OFF = {"shutdown", "host_stop", "delete"}
TURNING = [name for name, kind in KINDS.items() if kind.during and name not in ENDS_OFF]
"""The kinds that change the status of their instance. For other kinds, the watchdog alone decides."""


@pytest.mark.parametrize("kind", TURNING)
def test_after_an_outage_beyond_the_deadline_its_machine_is_booted_again(kind, world, settings):
    """The job fails. The machine that it had stopped is booted all the same, unless its disks are gone."""
    settings.JOB_ATTEMPTS = 2
    stage = Stage(kind, world)
    for call in stage.different_calls():
        with stage.again() as (job, driver):
            instance_id = job.instance_id
            was_on = {name: there["boot"] for name, there in driver.machines.items() if there["on"]}
            cut_power_at(call, driver)
            run_while_away(job, driver)
            Job.objects.filter(pk=job.pk).update(deadline_at=Now() - timedelta(minutes=1))
            run_while_away(job, driver)
            bring_back(job, driver)

            for name, boot in was_on.items():
                if set(boot.devices.values()) - boot.volumes.keys() <= driver.disks(name):
                    assert driver.power(name) == Power.ON, f"cut at {driver.calls[call]}, {name} stays off"
            assert_sound(job, driver, instance_id)


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_and_every_undo_may_run_twice(kind, world, driver):
    """Each step's `do` runs twice, then each `undo` twice. The second run finds its effect already done or
    gone."""
    from compute.worker.run import Run

    job = staged(kind, world, driver)
    instance_id = job.instance_id
    data = KINDS[kind].read(job.data)
    plan = KINDS[kind].plan(data)
    for step in plan:
        run = Run(Job.objects.get(pk=job.pk), data, driver)
        first, second = step.do(run), step.do(run)
        assert type(first) is type(second)
        while first is not None:
            if step.persist:
                step.persist(run)
            first = step.do(run)
        if step.persist:
            step.persist(run)
            step.persist(run)
    for step in reversed(plan):
        if step.undo is None:
            return
        run = Run(Job.objects.get(pk=job.pk), data, driver)
        step.undo(run)
        step.undo(run)
    if plan[0].undo is steps.undefine:
        assert driver.power(machine_name(instance_id)) == Power.ABSENT


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_is_readable_while_it_lives_or_kept_when_it_ends(kind, world, driver):
    job = staged(kind, world, driver)
    live = Job.objects.filter(pk=job.pk).values().get()
    assert STRONG not in str({**live, "encrypted": bytes(live["encrypted"] or b"")})

    work_through(job, driver)

    assert Job.objects.get(pk=job.pk).encrypted is None
