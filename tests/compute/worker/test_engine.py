"""The guarantees of the job engine, one by one."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from compute.drivers.base import DriverError, Power, Progress, Refused
from compute.jobs import store
from compute.jobs.data import BootData
from compute.jobs.definition import KINDS
from compute.jobs.queue import cancel, enqueue, run_now
from compute.machine_names import machine_name
from compute.models import Address, Instance, Job
from compute.services.instances import instances, power
from compute.worker import ending, engine
from config.errors import Busy, Invalid
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import clock, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(world, driver) -> Instance:
    """An instance that runs."""
    instance = world.create()
    work(instance.jobs.get(), driver)
    instance.refresh_from_db()
    assert instance.status == "running"
    return instance


def _actor(instance: Instance) -> Actor:
    return Actor(instance.account_id, None, "tester")


def live(instance: Instance) -> Job:
    return instance.jobs.get(state__in=["active", "undoing"])


# --- leases and fences ----------------------------------------------------------------------------------


def test_a_runner_that_lost_its_lease_changes_nothing(world):
    job = world.create().jobs.get()
    slow = store.claim(job.pk)
    Job.objects.filter(pk=job.pk).update(lease_until=None)
    store.claim(job.pk)
    before = Job.objects.filter(pk=job.pk).values().get()

    assert store.advance(slow, "boot", "active", percent=99) is None
    assert store.postpone(slow, 0) is None
    assert store.finish(slow, state="done", message="", error="", status="running", during="provisioning") is None

    assert Job.objects.filter(pk=job.pk).values().get() == before
    assert Instance.objects.get(pk=job.instance_id).status == "provisioning"


def test_a_slow_runners_step_is_not_recorded_twice(world, driver):
    """The first worker hangs in a driver call until its lease expires. The second finishes the job."""
    job = world.create().jobs.get()

    def meanwhile(number, name):
        if number == 0:
            Job.objects.filter(pk=job.pk).update(lease_until=None)
            engine.run(job.pk, driver)

    driver.after = meanwhile
    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert job.state == "done"
    assert Event.objects.filter(action="compute_boot").count() == 1


def test_a_finished_job_ignores_notifications(running, driver):
    calls = len(driver.calls)

    engine.run(running.jobs.get().pk, driver)

    assert len(driver.calls) == calls


def test_a_worker_that_is_to_stop_ends_its_step_and_hands_the_job_back(world, driver, monkeypatch):
    """The worker begins to stop during the first step. Another worker takes the next step at once."""
    stop_requests, notified = [], []
    monkeypatch.setattr(engine, "is_stopping", lambda: bool(stop_requests))
    monkeypatch.setattr(engine, "notify", notified.append)
    monkeypatch.setattr(ending, "notify", notified.append)
    job = world.create().jobs.get()
    driver.after = lambda number, name: stop_requests.append(name)

    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert (job.state, job.step, job.lease_until, job.attempt) == ("active", "disks", None, 0)
    assert notified == [job.pk]
    calls = len(driver.calls)
    engine.run(job.pk, driver)  # the worker claims no job
    assert (len(driver.calls), notified) == (calls, [job.pk, job.pk])

    driver.after = lambda number, name: None
    stop_requests.clear()
    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert job.state == "done"


# --- waiting and retrying --------------------------------------------------------------------------------


def test_a_step_that_waits_frees_the_worker_and_shows_how_far_it_is(world, driver):
    instance = world.create()
    driver.create_disk = lambda machine, disk, source=None: Progress(percent=50, wait=7)

    engine.run(instance.jobs.get().pk, driver)

    job = instance.jobs.get()
    assert (job.state, job.step, job.lease_until, job.attempt) == ("active", "disks", None, 0)
    assert job.run_at > job.created + timedelta(seconds=6)
    assert job.event.percent_complete == 62  # of two steps, the first is done, and a quarter of the second
    assert job.event.status == "started"


def test_a_passing_failure_is_retried_and_shown_to_staff(world, driver):
    instance = world.create()
    failures = iter([DriverError("The host is rebooting.")])

    def hook(number, name):
        for error in failures:
            raise error

    driver.before = hook
    engine.run(instance.jobs.get().pk, driver)
    job = instance.jobs.get()
    assert job.error == "The host is rebooting."

    work(job, driver)

    assert job.state == "done"
    assert job.error == ""


def test_backoff_doubles(world, driver, settings):
    settings.JOB_BACKOFF = 10
    job = world.create().jobs.get()
    driver.before = failing_at(0)
    for wait in (20, 40, 80):
        begun = clock()
        engine.run(job.pk, driver)
        job.refresh_from_db()
        assert begun < job.run_at - timedelta(seconds=wait) < clock()
        Job.objects.filter(pk=job.pk).update(run_at=Now())


@pytest.mark.parametrize("enqueued", [lambda world: world.create(), lambda world: booted(world.offline())])
def test_the_times_of_a_new_job_are_on_the_clock_of_the_database_to_the_microsecond(world, enqueued):
    """The clock of the process that takes the request may be wrong by hours."""
    job = enqueued(world).jobs.get()
    assert job.notified_at == job.created == job.run_at
    assert job.deadline_at == job.created + KINDS[job.kind].deadline


def booted(instance):
    with transaction.atomic():
        power.boot(_actor(instance), instance)
    return instance


def test_a_job_past_its_deadline_is_rolled_back(world, driver):
    instance = world.create()
    job = instance.jobs.get()
    Job.objects.filter(pk=job.pk).update(deadline_at=Now() - timedelta(seconds=1))

    work(job, driver)

    assert job.state == "failed"
    assert not Instance.objects.filter(pk=instance.pk).exists()
    assert Event.objects.get(pk=job.event_id).message == "This took too long, and the platform stopped it."


def test_the_status_is_reported_by_the_driver(running, driver):
    with transaction.atomic():
        power.reboot(_actor(running), running)
    driver.before = failing_at(len(driver.calls) + 1)  # the start, after the stop

    work(live(running), driver)

    running.refresh_from_db()
    assert driver.power(machine_name(running.pk)) == Power.OFF
    assert running.status == "offline"


def test_a_job_does_not_end_while_the_driver_cannot_report_the_power(running, driver):
    power.shutdown(_actor(running), running)
    job = live(running)

    def unreachable(machine):
        raise DriverError("The host does not answer.")

    driver.power = unreachable
    for _ in range(10):
        engine.run(job.pk, driver)
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
    running.refresh_from_db()
    assert running.status == "shutting_down"
    del driver.power

    work(job, driver)

    running.refresh_from_db()
    assert running.status == "offline"


def test_a_job_that_cannot_end_asks_less_and_less_often(running, driver, notified, settings):
    """Past its last attempt too. Polling in a tight loop would keep the worker from all other jobs."""
    settings.JOB_BACKOFF = 1
    power.shutdown(_actor(running), running)
    job = live(running)

    def unreachable(machine):
        raise DriverError("The host does not answer.")

    driver.power = driver.stop = unreachable
    Job.objects.filter(pk=job.pk).update(attempt=settings.JOB_ATTEMPTS)
    notified.clear()
    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert (job.state, job.error) == ("active", "The host does not answer.")
    assert job.run_at - clock() > timedelta(seconds=50)
    assert not notified


def test_a_failed_image_deploy_gives_the_addresses_back(world, driver):
    instance = world.create(private_ip=True)
    driver.before = failing_at(1)

    work(instance.jobs.get(), driver)

    assert not Instance.objects.filter(pk=instance.pk).exists()
    assert not Address.objects.filter(instance__isnull=False).exists()
    assert Event.objects.get().status == "failed"


def test_a_failed_first_boot_leaves_the_deployed_instance_offline(world, driver):
    instance = world.create()
    driver.before = failing_at(3)  # define, two disks, start

    work(instance.jobs.get(), driver)

    instance.refresh_from_db()
    assert instance.status == "offline"
    assert list(Event.objects.order_by("pk").values_list("action", "status")) == [
        ("compute_create", "finished"),
        ("compute_boot", "failed"),
    ]


def test_the_profile_that_runs_is_remembered_for_the_next_boot(running, driver):
    (config,) = running.configs.all()
    assert running.booted_config == config

    other = running.configs.create(label="other")
    other.devices.create(slot="sda", disk=running.disks.first())
    power.reboot(_actor(running), running, other.pk)
    driver.before = failing_at(len(driver.calls) + 1)
    work(live(running), driver)

    running.refresh_from_db()
    assert running.booted_config == config, "a profile that did not boot was not booted"


def test_the_profile_that_runs_is_remembered_also_where_the_job_that_booted_it_failed(world, driver):
    """Otherwise its disks would count as unused, and the next boot would use another profile."""
    instance = world.create()

    def unheard(number, name):
        if name == "start":
            raise DriverError("The answer was lost.")

    driver.after = unheard

    job = work(instance.jobs.get(), driver)

    instance.refresh_from_db()
    assert (job.state, instance.status) == ("failed", "running")
    assert instance.booted_config == instance.configs.get()


def test_a_profile_deleted_meanwhile_fails_the_boot(running, driver):
    power.reboot(_actor(running), running)
    running.configs.all().delete()

    job = work(live(running), driver)

    assert job.error == "The configuration profile to boot was deleted."
    running.refresh_from_db()
    assert running.status == "offline"


# --- one job at a time -----------------------------------------------------------------------------------


def test_a_second_job_is_refused_as_busy(running):
    power.reboot(_actor(running), running)

    with pytest.raises(Busy, match=r"^Compute busy\.$"):
        power.shutdown(_actor(running), running)


def test_a_wrong_state_is_named(running):
    data = BootData(config_id=running.configs.get().pk)
    with pytest.raises(Invalid, match="Cannot boot a compute that is running"), transaction.atomic():
        enqueue("boot", running, _actor(running), data=data)


def test_the_database_itself_allows_one_live_job(running):
    power.reboot(_actor(running), running)
    job = live(running)

    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.create(instance=running, kind="boot", step="start", deadline_at=Now())
    assert job.state == "active"


def test_the_database_itself_keeps_no_secret_of_a_finished_job(running):
    with pytest.raises(IntegrityError), transaction.atomic():
        running.jobs.update(encrypted=b"x")


# --- deleting what is busy -------------------------------------------------------------------------------


def test_a_deletion_waits_for_the_job_it_displaces(world, driver):
    instance = world.create()
    provision = instance.jobs.get()
    claimed = store.claim(provision.pk)

    delete = instances.delete(world.actor, instance)

    assert claimed is not None
    assert instance.status == "deleting"
    delete.refresh_from_db()
    assert delete.state == "queued"
    assert store.claim(delete.pk) is None, "the two must not work on the machine at the same time"


def test_a_displaced_job_ends_without_undoing_and_the_deletion_takes_everything(world, driver):
    instance = world.create()
    provision = instance.jobs.get()
    driver.create_disk = lambda machine, disk, source=None: Progress(percent=10, wait=60)
    engine.run(provision.pk, driver)
    delete = instances.delete(world.actor, instance)

    engine.run(provision.pk, driver)
    provision.refresh_from_db()
    delete.refresh_from_db()
    assert (provision.state, delete.state) == ("failed", "active")

    work(delete, driver)

    assert delete.state == "done"
    assert driver.machines == {}
    assert not Instance.objects.filter(pk=instance.pk).exists()
    assert not Address.objects.filter(instance__isnull=False).exists()
    assert Event.objects.get(action="compute_create").status == "failed"
    assert Event.objects.get(action="compute_delete").status == "finished"


def test_the_sweep_wakes_a_deletion_whose_promoter_died(world, driver, notified):
    instance = world.create()
    provision = instance.jobs.get()
    delete = instances.delete(world.actor, instance)
    Job.objects.filter(pk=provision.pk).update(state="failed", finished_at=Now(), encrypted=None)
    notified.clear()

    engine.sweep()

    assert delete.pk in notified
    work(delete, driver)
    assert not Instance.objects.filter(pk=instance.pk).exists()


def test_the_time_of_a_deletion_begins_when_the_displaced_job_has_ended(world, driver):
    instance = world.create()
    provision = instance.jobs.get()
    driver.create_disk = lambda machine, disk, source=None: Progress(percent=10, wait=60)
    engine.run(provision.pk, driver)
    delete = instances.delete(world.actor, instance)
    asked = Now() - timedelta(hours=2)
    Job.objects.filter(pk=delete.pk).update(created=asked, deadline_at=asked + timedelta(hours=1))

    work(provision, driver)
    work(delete, driver)

    assert delete.state == "done"
    assert not Instance.objects.filter(pk=instance.pk).exists()


def test_deleting_twice_is_one_deletion(running, driver):
    job = instances.delete(_actor(running), running)

    assert instances.delete(_actor(running), running) is None

    assert not Job.objects.get(pk=job.pk).cancelled
    assert Event.objects.filter(action="compute_delete").count() == 1
    assert work(job, driver).state == "done"
    assert not Instance.objects.filter(pk=running.pk).exists()


# --- staff -----------------------------------------------------------------------------------------------


def test_staff_cancel_a_stuck_provisioning_and_nothing_is_left(world, driver):
    instance = world.create()
    job = instance.jobs.get()
    driver.create_disk = lambda machine, disk, source=None: Progress(percent=10, wait=3600)
    engine.run(job.pk, driver)

    assert cancel(job)
    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert job.state == "failed"
    assert driver.machines == {}
    assert not Instance.objects.filter(pk=instance.pk).exists()


def test_staff_let_a_waiting_job_run_at_once(world, driver):
    job = world.create().jobs.get()
    Job.objects.filter(pk=job.pk).update(run_at=Now() + timedelta(hours=1))

    assert run_now(job)
    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert job.state == "done"


def test_a_finished_job_cannot_be_cancelled_or_hurried(running):
    job = running.jobs.get()

    assert not cancel(job)
    assert not run_now(job)


# --- the sweep -------------------------------------------------------------------------------------------


def test_the_sweep_repeats_lost_notifications_only_once(world, notified, settings):
    settings.JOB_NOTIFY_PATIENCE = 600
    job = world.create().jobs.get()
    Job.objects.filter(pk=job.pk).update(notified_at=Now() - timedelta(minutes=11))

    assert engine.sweep() == 1
    assert engine.sweep() == 0
    assert notified == [job.pk]


def test_the_sweep_takes_up_the_job_of_a_dead_worker(world, notified):
    job = world.create().jobs.get()
    store.claim(job.pk)
    assert engine.sweep() == 0
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1), notified_at=None)

    assert engine.sweep() == 1


def test_an_empty_instance_is_provisioned_to_offline(world, driver):
    instance = world.create(image=None, root_pass=None)
    assert instance.status == "provisioning"

    work(instance.jobs.get(), driver)

    instance.refresh_from_db()
    assert instance.status == "offline"
    assert list(Event.objects.values_list("action", "status")) == [("compute_create", "finished")]


def test_a_deploy_that_is_not_to_boot_ends_offline(world, driver):
    instance = world.create(booted=False)

    work(instance.jobs.get(), driver)

    instance.refresh_from_db()
    assert instance.status == "offline"
    assert driver.disks(machine_name(instance.pk))


def test_the_root_password_reaches_the_driver(world):
    driver = MemoryDriver()
    instance = world.create()
    work(instance.jobs.get(), driver)

    disks = driver.machines[machine_name(instance.pk)]["disks"].values()
    assert {disk.root_password for disk in disks if disk.image} == {"correct-horse-7-battery"}
    assert "correct-horse-7-battery" not in str(list(disks)), "the driver's own types do not print it"


@pytest.mark.django_db(transaction=True)
def test_enqueueing_outside_a_transaction_is_a_mistake(world):
    instance = world.create()
    instance.jobs.all().delete()

    with pytest.raises(RuntimeError, match="in the transaction of the change"):
        enqueue("delete", instance, world.actor)


def test_a_job_that_a_worker_does_not_know_is_left_for_one_that_does(world, driver):
    job = world.create().jobs.get()
    Job.objects.filter(pk=job.pk).update(step="invented-later")

    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert (job.state, job.lease_until) == ("active", None)
    assert job.error == "This worker knows no step invented-later of provision."
    assert not driver.calls
    Job.objects.filter(pk=job.pk).update(step="define", run_at=Now())
    assert work(job, driver).state == "done"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"version": 1}, "missing 1 required keyword-only argument: 'boot'"),
        ({"version": 1, "boot": True, "gravity": 0.5}, "got an unexpected keyword argument 'gravity'"),
        ({"version": 7, "boot": True}, "This worker cannot read version 7 of the data of the job."),
    ],
)
def test_a_job_whose_data_another_release_wrote_waits_where_staff_see_it(data, error, world, driver):
    job = world.create().jobs.get()
    known = job.data
    Job.objects.filter(pk=job.pk).update(data=data)

    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert (job.state, job.lease_until) == ("active", None)
    assert error in job.error
    assert not driver.calls
    Job.objects.filter(pk=job.pk).update(data=known, run_at=Now())
    assert work(job, driver).state == "done"


def test_a_job_whose_key_a_worker_lacks_is_left_for_one_that_has_it(world, driver, settings):
    """While keys are rotated, a web process can have a new key before a worker does."""
    keys = settings.ENCRYPTION_KEYS
    settings.ENCRYPTION_KEYS = ["a new key " * 4, *keys]
    job = world.create().jobs.get()
    settings.ENCRYPTION_KEYS = keys
    for _ in range(settings.JOB_ATTEMPTS + 1):
        Job.objects.filter(pk=job.pk).update(run_at=Now())
        engine.run(job.pk, driver)
    job.refresh_from_db()
    assert (job.state, job.lease_until) == ("active", None)
    assert job.error == "This worker has no key for the secrets of the job."
    settings.ENCRYPTION_KEYS = ["a new key " * 4, *keys]
    Job.objects.filter(pk=job.pk).update(run_at=Now())
    assert work(job, driver).state == "done"


def test_a_job_has_the_data_class_of_its_kind(running):
    with pytest.raises(TypeError, match="a job of kind reboot carries BootData, not JobData"):
        enqueue("reboot", running, _actor(running))


def test_the_reason_of_a_rollback_is_stored_with_the_data(world, driver):
    instance = world.create()
    job = instance.jobs.get()
    driver.before = failing_at(1, Refused("No such image."), times=1)

    def unreachable(machine):
        raise DriverError("The host does not answer.")

    driver.undefine = unreachable
    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert job.state == "undoing"
    assert job.data["undo_reason"] == "No such image."


def test_a_job_that_an_earlier_release_enqueued_and_began_to_undo_goes_on(running, driver):
    power.reboot(_actor(running), running)
    job = live(running)
    data = {"config": running.configs.get().pk, "reason": "The host does not answer."}
    Job.objects.filter(pk=job.pk).update(data=data, state="undoing", step="stop")

    work(job, driver)

    assert (job.state, job.error) == ("failed", "The host does not answer.")
