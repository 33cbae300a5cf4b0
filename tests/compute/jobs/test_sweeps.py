"""The jobs of which workers are notified, and how often."""

from collections import deque
from datetime import timedelta

import pytest
from django.conf import settings as installed
from django.db import transaction
from django.db.models.functions import Now
from kombu.connection import Connection

from compute.jobs import queue, sweeps
from compute.jobs.notify import TASK_NAME, count_waiting
from compute.models import Job
from compute.services.instances import instances
from compute.worker import ending, engine
from config.celery import app
from config.processes import queues
from tests.compute.memory_driver import MemoryDriver
from tests.compute.ready_jobs import FLOOD, QUIET, claimed, ready, worker

pytestmark = pytest.mark.django_db

AGO = timedelta(minutes=11)


@pytest.fixture(autouse=True)
def _patience(settings):
    settings.JOB_NOTIFY_PATIENCE = 600


@pytest.fixture
def broker(monkeypatch) -> deque[int]:
    """The waiting messages."""
    messages: deque[int] = deque()
    monkeypatch.setattr(queue, "notify", messages.append)
    monkeypatch.setattr(engine, "notify", messages.append)
    monkeypatch.setattr(ending, "notify", messages.append)
    monkeypatch.setattr(engine, "count_waiting", lambda: len(messages))
    return messages


# --- the sweep ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        {"ready": False, "notified_at": None},
        {"ready": False, "attempt": 1, "lease_until": Now() - timedelta(seconds=1), "notified_at": None},
        {"ready": True, "lease_until": Now() - timedelta(seconds=1)},
    ],
    ids=["its wait is over", "its worker died", "its worker of the previous release died"],
)
def test_a_job_that_is_ready_again_is_notified_of_once(columns, broker):
    job = ready(FLOOD)
    Job.objects.filter(pk=job.pk).update(**columns)
    assert [engine.sweep(), engine.sweep()] == [1, 0]
    assert list(broker) == [job.pk]
    assert claimed() == job.pk


@pytest.mark.parametrize(
    ("waiting", "sent"), [(0, 5), (3, 2), (5, 0), (70, 0), (None, 0)], ids=lambda number: str(number)
)
def test_the_sweep_sends_as_many_messages_as_the_broker_has_too_few(waiting, sent, broker, monkeypatch):
    for _ in range(5):
        ready(FLOOD)
    assert engine.sweep() == 0
    Job.objects.update(notified_at=Now() - AGO)
    monkeypatch.setattr(engine, "count_waiting", lambda: waiting)
    assert [engine.sweep(), engine.sweep()] == [sent, 0 if waiting is None or sent in (0, 5) else sent]


def test_jobs_for_which_no_message_was_sent_do_not_count_as_lost_messages(broker):
    """The jobs of a host whose slots are all in use have no message, and need none."""
    worker(slots=2)
    ready(FLOOD, host=7)
    claimed()
    for _ in range(4):
        ready(FLOOD, host=7)
    Job.objects.filter(ready=True).update(notified_at=None)
    waits = ready(QUIET, host=7)
    Job.objects.filter(pk=waits.pk).update(notified_at=Now() - AGO)
    broker.append(waits.pk)
    assert engine.sweep() == 0


def test_the_broker_is_not_asked_while_no_job_has_waited_for_long(broker, monkeypatch):
    ready(FLOOD)
    monkeypatch.setattr(engine, "count_waiting", lambda: pytest.fail("it was asked"))
    assert engine.sweep() == 0


def test_a_sweep_notifies_of_no_more_jobs_of_a_host_than_can_be_at_work(broker):
    worker(slots=8)
    for _ in range(9):
        ready(FLOOD, host=7)
    other = ready(FLOOD, host=8)
    claimed()
    Job.objects.filter(ready=True).update(notified_at=None)
    assert engine.sweep() == 3 + 1
    assert other.pk in broker


# --- a worker that takes a message --------------------------------------------------------------------------


def test_no_job_of_a_host_with_one_slot_waits_for_the_sweep(world, broker):
    """Another slot takes all messages while the first job runs, and can claim nothing. The end of each job
    passes the slot on."""
    worker(slots=2)
    jobs = {world.create(label=f"web-{number}").jobs.get().pk for number in range(4)}
    driver, other = MemoryDriver(), MemoryDriver()
    transaction.get_connection().run_on_commit.clear()
    broker.extend(sorted(jobs))

    def take_all(number, name):
        while broker:
            engine.run_next(broker.popleft(), other)

    driver.before = take_all
    while broker:
        engine.run_next(broker.popleft(), driver)
        assert len(broker) <= 1

    assert set(Job.objects.filter(state="done").values_list("pk", flat=True)) == jobs
    assert other.calls == []


def test_a_message_is_never_one_too_many(world, broker):
    """Whichever job is claimed, as many messages wait as ready jobs are marked as notified."""
    worker(slots=8)
    for number in range(4):
        world.create(label=f"web-{number}")
    transaction.get_connection().run_on_commit.clear()
    broker.extend(Job.objects.values_list("pk", flat=True))
    unnotified = Job.objects.order_by("pk").first()
    Job.objects.filter(pk=unnotified.pk).update(notified_at=None)
    broker.remove(unnotified.pk)
    driver = MemoryDriver()

    while broker:
        engine.run_next(broker.popleft(), driver)
        assert sweeps.count_notified()[0] == len(broker)

    assert not Job.objects.exclude(state="done").exists()


def test_a_message_that_stood_for_another_job_is_returned_for_that_job():
    worker(slots=2)
    first, second = ready(FLOOD, host=7, waited=2), ready(QUIET, host=7)
    assert claimed() == first.pk, "by the message of the second job"
    assert claimed() is None, "the host has one slot"
    assert sweeps.return_notification(first.pk)
    second.refresh_from_db()
    assert second.notified_at is None
    assert not sweeps.return_notification(first.pk), "no message is left"


def test_a_late_message_about_a_finished_job_does_nothing(broker):
    job = ready(FLOOD)
    claimed()
    Job.objects.filter(pk=job.pk).update(state="done", finished_at=Now(), lease_until=None)
    before = Job.objects.values().get()
    engine.run_next(job.pk, MemoryDriver())
    assert (Job.objects.values().get(), list(broker)) == (before, [])


def test_a_long_run_yields_between_steps_to_an_account_without_a_running_job(world, broker, monkeypatch):
    monkeypatch.setattr(engine, "TURN_SECONDS", 0)
    long = world.create().jobs.get()
    driver = MemoryDriver()
    driver.after = lambda number, name: number or ready(QUIET)

    engine.run_next(long.pk, driver)

    long.refresh_from_db()
    assert (long.state, long.step, long.lease_until, long.ready) == ("active", "disks", None, True)
    assert list(broker) == [long.pk]
    assert claimed() == Job.objects.get(account_id=QUIET).pk


@pytest.mark.django_db(transaction=True)
def test_a_deletion_sends_no_second_message_for_the_job_that_it_ends(world, broker):
    instance = world.create()
    job = instance.jobs.get()
    assert list(broker) == [job.pk]
    instances.delete(world.actor, instance)
    assert list(broker) == [job.pk]
    while broker:
        engine.run_next(broker.popleft(), MemoryDriver())
    assert not Job.objects.filter(finished_at=None).exists()


@pytest.mark.django_db(transaction=True)
def test_a_deletion_notifies_of_a_job_that_waits(world, broker):
    instance = world.create()
    job = instance.jobs.get()
    Job.objects.update(ready=False, notified_at=None, run_at=Now() + AGO)
    broker.clear()
    instances.delete(world.actor, instance)
    assert list(broker) == [job.pk]
    assert claimed() == job.pk


# --- the broker's side --------------------------------------------------------------------------------------


def test_notifications_of_jobs_are_the_last_that_a_worker_takes(settings):
    """Their list is the last that a worker of any release pops from. No worker has this test's prefix."""
    options = installed.CELERY_BROKER_TRANSPORT_OPTIONS | {
        "global_keyprefix": settings.REDIS_PREFIX,
        "socket_connect_timeout": 120,
        "socket_timeout": 120,
    }
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
    with Connection(installed.CELERY_BROKER_URL, transport_options=options) as connection:
        app.send_task(TASK_NAME, args=(7,), connection=connection, ignore_result=True)

    assert (count_waiting(), queues.waiting("celery"), queues.waiting("celery", 0)) == (1, 1, 0)
    assert queues.list_keys("celery")[-1] == queues.list_key("celery", 9)
