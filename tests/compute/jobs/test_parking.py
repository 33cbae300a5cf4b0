"""Jobs that wait for a host without an answer: they call nobody, use no attempts, and continue when it answers."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Ended, Power, Unreachable
from compute.jobs import parking, queue
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job
from compute.services.hosts import maintenance, reachability
from compute.services.instances import power
from compute.services.instances.instances import delete
from compute.worker import engine
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import clock, work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed, staged
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def host(world) -> Host:
    return world.host


@pytest.fixture
def instance(world, driver) -> Instance:
    return deployed(world, driver)


def fall_silent(driver: MemoryDriver) -> None:
    """Answer no call from now on. The calls are still counted."""

    def refuse(number: int, name: str) -> None:
        raise Unreachable("The host does not answer.")

    driver.before = refuse


def lose_power(driver: MemoryDriver) -> None:
    """Turn all machines off, as after a power cut of their host."""
    for name, machine in driver.machines.items():
        if machine["on"]:
            driver.fall(name, Ended.HOST)


def answer(driver: MemoryDriver) -> None:
    driver.before = lambda number, name: None
    watch(driver)


def come_due(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)


def run(job: Job, driver: MemoryDriver) -> Job:
    engine.run(job.pk, driver)
    job.refresh_from_db()
    return job


def parked_reboot(world, instance: Instance, driver: MemoryDriver) -> Job:
    job = power.reboot(world.actor, instance)
    fall_silent(driver)
    return run(job, driver)


def test_it_waits_for_the_host_and_calls_it_no_more(world, driver, host, instance):
    job = parked_reboot(world, instance, driver)
    assert (job.waits_for_id, job.lease_until, job.state) == (host.pk, None, "active")
    called = len(driver.calls)

    for _ in range(7):  # more than the attempts of a job
        come_due(job)
        run(job, driver)

    assert len(driver.calls) == called
    assert job.attempt == 1, "only the call that found out counts"
    assert job.run_at > clock() + 30 * MINUTE
    assert job.state == "active"


def test_a_job_that_begins_while_the_host_is_away_makes_no_call_at_all(world, driver, host, instance):
    reachability.record_unreachable(str(host.uuid), "No route to host.", clock())
    driver.calls.clear()
    job = run(power.reboot(world.actor, instance), driver)
    assert (job.waits_for_id, job.attempt, driver.calls) == (host.pk, 0, [])


def test_its_event_says_so_until_the_host_answers(world, driver, instance):
    job = parked_reboot(world, instance, driver)
    event = Event.objects.get(pk=job.event_id)
    assert (event.status, event.message) == ("started", parking.MESSAGE)

    answer(driver)
    event.refresh_from_db()
    assert (event.status, event.message) == ("started", "")
    work(job, driver)

    event.refresh_from_db()
    assert (event.status, event.message, event.percent_complete) == ("finished", "", 100)
    assert Event.objects.filter(action="compute_reboot").count() == 1


def test_the_earlier_message_of_the_event_is_kept(world, driver, instance):
    job = power.reboot(world.actor, instance)
    Event.objects.filter(pk=job.event_id).update(message="As asked.")
    fall_silent(driver)
    run(job, driver)
    come_due(job)
    run(job, driver)
    assert Event.objects.get(pk=job.event_id).message == f"As asked. {parking.MESSAGE}"
    answer(driver)
    assert Event.objects.get(pk=job.event_id).message == "As asked."


def test_all_that_wait_are_due_when_the_host_answers_and_others_wait_on(world, driver, host):
    elsewhere = HostFactory(region=world.region)
    instances = [deployed(world, driver) for _ in range(3)]
    Instance.objects.filter(pk__in=[each.pk for each in instances[:2]]).update(host=host)
    Instance.objects.filter(pk=instances[2].pk).update(host=elsewhere)
    Host.objects.update(unreachable_since=Now())
    jobs = [run(power.reboot(world.actor, each), driver) for each in instances]
    assert [job.waits_for_id for job in jobs] == [host.pk, host.pk, elsewhere.pk]

    Host.objects.filter(pk=host.pk).update(unreachable_since=None)
    assert parking.resume_all() == [jobs[0].pk, jobs[1].pk]

    for job in jobs:
        job.refresh_from_db()
    assert [job.waits_for_id for job in jobs] == [None, None, elsewhere.pk]
    assert all(job.run_at <= clock() and job.notified_at is None for job in jobs[:2])
    assert jobs[2].run_at > clock()


def test_a_job_is_not_parked_for_a_host_that_answers_by_now(world, driver, host, instance):
    """Its call began before the host answered, and hung. The job retries as after any error, and the attempt
    counts."""
    job = power.reboot(world.actor, instance)

    def hang(number: int, name: str) -> None:
        Host.objects.filter(pk=host.pk).update(reachable_since=Now() + MINUTE)
        raise Unreachable("The host does not answer.")

    driver.before = hang
    run(job, driver)
    assert (job.waits_for_id, job.attempt, job.error) == (None, 1, "The host does not answer.")
    assert job.run_at <= clock()


def test_a_call_that_always_hangs_is_given_up_though_its_host_answers_the_watchdog(
    world, driver, instance, settings
):
    settings.JOB_ATTEMPTS = 3
    job = power.reboot(world.actor, instance)

    def hang(number: int, name: str) -> None:
        if name == "stop":
            raise Unreachable("The host does not answer.")

    driver.before = hang
    for _ in range(settings.JOB_ATTEMPTS):
        run(job, driver)
        assert job.waits_for is not None
        watch(driver)
    called = len(driver.calls)
    work(job, driver)
    assert (job.state, len(driver.calls)) == ("failed", called)


def test_a_host_that_is_removed_is_waited_for_no_longer(world, driver, instance):
    job = parked_reboot(world, instance, driver)
    Job.objects.filter(pk=job.pk).update(waits_for=999_999)
    assert parking.resume_all() == [job.pk]


def test_work_on_volumes_goes_on_when_any_host_of_the_region_answers(world, driver, host):
    other = HostFactory(region=world.region, unreachable_since=Now())
    job = power.reboot(world.actor, deployed(world, driver))
    fall_silent(driver)
    run(job, driver)
    Job.objects.filter(pk=job.pk).update(instance=None)
    assert parking.resume_all() == []
    Host.objects.filter(pk=other.pk).update(unreachable_since=None)
    assert parking.resume_all() == [job.pk]


# --- ends that do not wait ---------------------------------------------------------------------------------------


def test_a_deletion_supersedes_it_at_once_and_then_waits_itself(world, driver, instance):
    job = parked_reboot(world, instance, driver)
    delete(world.actor, instance)
    run(job, driver)
    assert (job.state, Event.objects.get(pk=job.event_id).message) == ("failed", Event.SUPERSEDED)
    engine.notify_promoted()
    deletion = run(Job.objects.get(kind="delete"), driver)
    assert deletion.waits_for_id == world.host.pk
    answer(driver)
    work(deletion, driver)
    assert not Instance.objects.filter(pk=instance.pk).exists()


@pytest.mark.parametrize("kind", ["clone", "migrate", "resize"])
def test_a_superseded_parked_job_releases_its_source_at_once(kind, world, driver):
    job = staged(kind, world, driver)
    driver.cut_power(str(host.uuid) for host in Host.objects.all())
    run(job, driver)
    assert job.waits_for is not None
    delete(world.actor, job.instance)
    run(job, driver)
    assert (job.state, job.error) == ("failed", Event.SUPERSEDED)
    if job.source is not None:
        job.source.refresh_from_db()
        assert job.source.status == "running"


def test_a_cancelled_one_is_undone_when_the_host_answers(world, driver, instance):
    job = parked_reboot(world, instance, driver)
    assert queue.cancel(job)
    run(job, driver)
    assert (job.state, job.waits_for_id) == ("undoing", world.host.pk)
    answer(driver)
    work(job, driver)
    instance.refresh_from_db()
    assert (job.state, instance.status) == ("failed", "running")


def interrupted(driver: MemoryDriver, act) -> None:
    """Answer no call from now on, and run `act` while the first call hangs."""
    acts = [act]

    def hang(number: int, name: str) -> None:
        if acts:
            acts.pop()()
        raise Unreachable("The host does not answer.")

    driver.before = hang


def test_a_job_superseded_during_its_call_ends_at_its_next_claim(world, driver, instance):
    job = power.reboot(world.actor, instance)
    interrupted(driver, lambda: delete(world.actor, instance))
    run(job, driver)
    assert (job.waits_for_id, job.ready) == (world.host.pk, True)
    claimed = run(job, driver)
    assert (claimed.state, claimed.error) == ("failed", Event.SUPERSEDED)


def test_a_job_given_up_during_its_undo_ends_at_its_next_claim(world, driver):
    job = staged("provision", world, driver)
    queue.cancel(job)
    interrupted(driver, lambda: queue.give_up(job, "Its host burned."))
    assert run(job, driver).state == "undoing"
    assert run(job, driver).state == "failed"
    assert "Its host burned." in job.error


def test_a_job_overdue_during_its_call_is_given_up_at_its_next_claim(world, driver, instance):
    job = power.reboot(world.actor, instance)
    interrupted(driver, lambda: Job.objects.filter(pk=job.pk).update(deadline_at=Now() - MINUTE))
    run(job, driver)
    run(job, driver)
    assert job.data["undo_reason"] == engine.OVERDUE
    assert job.run_at > clock() + 30 * MINUTE


# --- an outage that is longer than the job's deadline -------------------------------------------------------------


def outlast(job: Job, driver: MemoryDriver) -> None:
    """Let the deadline pass while the host is away. The job then waits for the host's report of the power."""
    Job.objects.filter(pk=job.pk).update(deadline_at=Now() - MINUTE, run_at=Now())
    run(job, driver)
    come_due(job)
    run(job, driver)
    assert job.finished_at is None
    assert job.run_at > clock() + 30 * MINUTE, "it is not asked for in a loop"


@pytest.mark.parametrize("step", ["stop", "start"])
def test_a_machine_that_was_on_is_booted_after_an_outage_longer_than_the_deadline(step, world, driver, instance):
    job = power.reboot(world.actor, instance)
    reached = driver.before

    def silent_from_there(number: int, name: str) -> None:
        if name == step:
            raise Unreachable("The host does not answer.")

    driver.before = silent_from_there
    driver.power = silent_power(driver)  # type: ignore[method-assign]
    run(job, driver)
    assert job.step == step
    lose_power(driver)
    outlast(job, driver)

    del driver.power
    driver.before = reached
    watch(driver)
    work(job, driver)
    instance.refresh_from_db()
    assert (job.state, job.error, instance.status) == ("failed", engine.OVERDUE, "stopped")

    assert maintenance.keep_up() == 1
    boot = Job.objects.get(finished_at=None)
    assert "outage" in Event.objects.get(pk=boot.event_id).message
    work(boot, driver)
    instance.refresh_from_db()
    assert (instance.status, driver.power(machine_name(instance.pk))) == ("running", Power.ON)


def silent_power(driver: MemoryDriver):
    def fail(machine: str) -> Power:
        raise Unreachable("The host does not answer.")

    return fail


def test_a_boot_that_a_customer_asked_for_leaves_the_machine_off(world, driver):
    instance = deployed(world, driver, running=False)
    job = power.boot(world.actor, instance)
    fall_silent(driver)
    driver.power = silent_power(driver)  # type: ignore[method-assign]
    run(job, driver)
    outlast(job, driver)
    del driver.power
    answer(driver)
    work(job, driver)
    instance.refresh_from_db()
    assert (job.state, instance.status) == ("failed", "offline")
