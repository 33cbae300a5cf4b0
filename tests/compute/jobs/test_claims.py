"""The job that a free slot of a worker claims, and the number of one host's jobs in progress."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from compute.jobs import claims, queue, store, sweeps
from compute.models import Job
from tests.compute.ready_jobs import FLOOD, QUIET, claimed, ready, worker
from tests.compute.run_jobs import work
from tests.factories import HostFactory
from tests.racing import RACERS, race

pytestmark = pytest.mark.django_db
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def end(job_id: int | None) -> None:
    job = Job.objects.get(pk=job_id)
    assert store.finish(job, state="done", message="", error="", status=None, during=None)


# --- whose turn it is ---------------------------------------------------------------------------------------


def test_the_job_of_a_quiet_account_is_claimed_next_however_many_jobs_of_another_wait():
    flood = [ready(FLOOD, waited=100 - number).pk for number in range(5)]
    assert claimed() == flood[0]
    boot = ready(QUIET)
    assert [claimed() for _ in range(6)] == [boot.pk, *flood[1:], None]


def test_one_slot_goes_from_account_to_account():
    flood = [ready(FLOOD, waited=100 - number).pk for number in range(3)]
    quiet = [ready(QUIET, waited=10 - number).pk for number in range(2)]
    order = []
    while (job_id := claimed()) is not None:
        order.append(job_id)
        end(job_id)
    assert order == [flood[0], quiet[0], flood[1], quiet[1], flood[2]]


def test_a_clock_that_was_set_back_takes_no_account_its_turns():
    boot, other = ready(QUIET, waited=1), ready(FLOOD, waited=1)
    for job, ago in ((ready(QUIET), -HOUR), (ready(FLOOD), MINUTE)):
        Job.objects.filter(pk=job.pk).update(state="done", finished_at=Now(), claimed_at=Now() - ago)
    assert [claimed(), claimed()] == [boot.pk, other.pk]


@pytest.mark.parametrize("asked", [True, False])
def test_a_job_that_is_cancelled_at_work_is_claimed_again_at_once_though_its_step_waits(asked):
    ready(QUIET)
    job = claims.claim_next()
    if asked:
        assert queue.cancel(job)
    assert store.postpone(job, 600)
    sweeps.make_ready()
    assert (sweeps.due(), claimed()) == (([job.pk], job.pk) if asked else ([], None))


def test_an_account_with_fewer_jobs_at_work_comes_first_though_its_last_turn_was_later():
    for _ in range(2):
        ready(FLOOD)
        claimed()
    ready(QUIET)
    claimed()
    waits, boot = ready(FLOOD, waited=50), ready(QUIET)
    assert [claimed(), claimed()] == [boot.pk, waits.pk]


@pytest.mark.parametrize(
    ("waited", "first"), [(50, "interactive"), (claims.MAX_BULK_WAIT + 1, "bulk")], ids=["younger", "starving"]
)
def test_interactive_jobs_come_before_bulk_jobs_that_have_waited_for_less_than_a_minute(waited, first):
    jobs = {"bulk": ready(FLOOD, bulk=True, waited=waited).pk, "interactive": ready(FLOOD).pk}
    assert claimed() == jobs[first]


def test_an_interactive_job_of_a_busy_account_waits_for_the_bulk_job_of_an_idle_one():
    ready(FLOOD)
    claimed()
    boot, copying = ready(FLOOD), ready(QUIET, bulk=True)
    assert [claimed(), claimed()] == [copying.pk, boot.pk]


@pytest.mark.parametrize(
    "columns",
    [
        {"run_at": Now() + timedelta(seconds=50)},
        {"ready": False},
        {"lease_until": Now() + timedelta(seconds=50)},
        {"state": "queued"},
        {"state": "done", "finished_at": Now()},
    ],
    ids=["postponed by an earlier release", "waits", "at work", "queued", "over"],
)
def test_jobs_that_are_not_ready_are_not_claimed(columns):
    job = ready(QUIET)
    Job.objects.filter(pk=job.pk).update(**columns)
    assert claimed() is None


def test_jobs_of_the_previous_release_are_claimed_with_others():
    """A process of the previous release writes none of the columns that decide."""
    with connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute(
                "INSERT INTO compute_job (kind, state, step, data, error, cancelled, attempt, fence, created_by,"
                " notified_at, deadline_at) VALUES ('boot', 'active', 'start', '{}', '', false, 0, 0, '',"
                " statement_timestamp(), statement_timestamp() + interval '1 hour')"
            )
    first = claimed()
    boot = ready(QUIET)
    assert claimed() == boot.pk
    assert claimed() not in (None, first)


def test_enqueued_jobs_have_the_columns_of_the_claim(world):
    job = world.create().jobs.get()
    assert (job.account_id, job.bulk, job.share_host) == (world.actor.account_id, True, job.instance.host_id)
    assert (job.ready, job.share_slot) == (True, None)
    assert claimed() == job.pk


def test_a_slot_is_given_up_only_while_an_account_without_a_job_at_work_waits():
    ready(FLOOD)
    job = claims.claim_next()
    ready(FLOOD)
    assert job is not None
    assert not claims.others_wait(job)
    ready(QUIET)
    assert claims.others_wait(job)
    assert claims.claim_next() is not None
    ready(QUIET)
    assert not claims.others_wait(job)


# --- the share of a host ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "share", "at_work"),
    [
        (8, 0.5, 4),
        (5, 0.5, 2),
        (2, 0.5, 1),
        (1, 0.5, 1),
        (8, 0.1, 1),
        (3, 1, 3),
        (0, 0.5, claims.UNKNOWN_SLOTS / 2),
    ],
)
def test_a_host_has_its_share_of_the_slots_and_one_at_least(slots, share, at_work, settings):
    settings.JOB_HOST_SHARE = share
    worker(slots=slots)
    jobs = [ready(FLOOD, host=7).pk for _ in range(6)]
    other = ready(FLOOD, host=8).pk
    taken = [job_id for _ in range(9) if (job_id := claimed()) is not None]
    assert (len(set(taken) & set(jobs)), other in taken) == (at_work, True)


def test_slots_of_workers_that_are_gone_or_take_other_queues_do_not_count():
    worker(slots=2)
    for columns in ({"stopped": Now()}, {"seen": Now() - timedelta(minutes=1)}, {"queues": ["clock"]}):
        worker(**{"slots": 50, **columns})
    first, _ = ready(FLOOD, host=7), ready(FLOOD, host=7)
    assert [claimed(), claimed()] == [first.pk, None]


@pytest.mark.django_db(transaction=True)
def test_claims_of_one_moment_do_not_exceed_the_share():
    worker(slots=8)
    for host in (7, 8):
        for _ in range(RACERS):
            ready(FLOOD, host=host)

    taken = [job_id for job_id in race(lambda number: claimed()) if job_id is not None]

    assert len(set(taken)) == len(taken) == 8
    slots = Job.objects.exclude(share_slot=None).order_by("share_host", "share_slot")
    assert list(slots.values_list("share_host", "share_slot")) == [
        (host, n) for host in (7, 8) for n in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(
    "give_back",
    [
        lambda job: store.finish(job, state="done", message="", error="", status=None, during=None),
        lambda job: store.postpone(job, 60),
        lambda job: store.postpone(job, 0),
    ],
    ids=["ends", "waits", "gives way"],
)
def test_the_slot_of_a_host_is_free_when_the_lease_is_given_back(give_back):
    worker(slots=2)
    ready(FLOOD, host=7)
    job = claims.claim_next()
    second = ready(QUIET, host=7)
    assert job is not None
    assert claimed() is None
    give_back(job)
    assert claimed() == second.pk


def test_a_job_keeps_its_slot_from_step_to_step():
    ready(FLOOD, host=7)
    job = claims.claim_next()
    assert job is not None
    moved = store.advance(job, "next", "active")
    assert moved is not None
    assert (moved.share_host, moved.share_slot) == (7, job.share_slot)


def test_the_slot_of_a_killed_worker_is_free_when_its_lease_ends():
    worker(slots=2)
    killed = ready(FLOOD, host=7)
    assert claimed() == killed.pk
    other = ready(QUIET, host=7)
    sweeps.make_ready()
    assert claimed() is None
    Job.objects.filter(pk=killed.pk).update(lease_until=Now() - timedelta(seconds=1))
    sweeps.make_ready()
    assert claimed() == other.pk
    end(other.pk)
    assert claimed() == killed.pk


def test_a_slot_that_a_worker_of_the_release_before_did_not_give_back_is_free_soon():
    """Such a worker claimed a job whose lease had expired, and ended it."""
    worker(slots=2)
    killed = ready(FLOOD, host=7)
    claimed()
    Job.objects.filter(pk=killed.pk).update(state="done", finished_at=Now(), lease_until=None)
    other = ready(QUIET, host=7)
    sweeps.make_ready()
    assert claimed() == other.pk


def test_a_job_of_an_instance_that_was_moved_counts_for_the_new_host(world, driver):
    instance = world.create()
    work(instance.jobs.get(), driver)
    job = Job.objects.create(
        instance=instance, kind="migrate", step="boot", share_host=instance.host_id, deadline_at=Now()
    )
    claimed = claims.claim_next()
    assert claimed is not None
    assert claimed.pk == job.pk
    moved_to = HostFactory(region=instance.region)
    type(instance).objects.filter(pk=instance.pk).update(host=moved_to)
    waiting = store.postpone(claimed, 5)
    assert waiting is not None
    assert waiting.share_host == moved_to.pk
