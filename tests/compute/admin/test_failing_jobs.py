"""Failing jobs by host and error, and jobs that take longer than usual."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.models import User
from compute.admin import usual_times
from compute.admin.failing_jobs import ended_groups, folded, live_groups
from compute.models import Job
from compute.services.removal import remove
from tests.config.admin.pages import list_address, page_address

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
FAILING = reverse("admin:failing")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Disk skerry-12-4 is busy.", "Disk skerry-7-33 is busy."),
        ("10.0.0.7: no route", "10.0.12.8: no route"),
        ("No answer of [2001:db8::1]", "No answer of [2001:db8:7::ffff:2]"),
        ("task 7f9c24e5a1b2c3d4 is gone", "task 00ff24e5a1b2c3aa is gone"),
        ("3b241101-e2bb-4255-8caf-4136c566a962 is off", "00000000-e2bb-4255-8caf-4136c566a962 is off"),
        ("took 3.5 s", "took 120 s"),
    ],
)
def test_errors_that_differ_in_numbers_are_one(one, other):
    assert folded(one) == folded(other)


def test_other_errors_stay_apart():
    assert folded("The host does not answer.") != folded("The disk is full.")
    assert folded("a failed backup") == "a failed backup"


@pytest.fixture
def failing(world) -> list[Job]:
    """Three jobs with one error, on one host."""
    jobs = [world.create().jobs.get() for _ in range(3)]
    for job in jobs:
        Job.objects.filter(pk=job.pk).update(error=f"Disk skerry-{job.pk} is gone.", attempt=2, run_at=Now() + HOUR)
    return jobs


def test_jobs_with_one_host_and_error_are_one_line(admin, failing, world):
    waits = world.create().jobs.get()
    Job.objects.filter(pk=waits.pk).update(run_at=Now() - HOUR)
    first, second = live_groups()
    assert (first.number, first.kinds, first.host) == (3, "provision (3)", world.host)
    assert first.error == f"Disk skerry-{failing[-1].pk} is gone."
    assert (second.number, second.folded) == (1, "no error: overdue")
    page = admin.get(FAILING).content.decode()
    assert "provision (3)" in page
    assert world.host.label in page


def test_one_verb_is_used_for_all_of_a_group_after_a_question(admin, failing):
    group = admin.get(FAILING).context["live"][0]
    data = {"action": "run_now", "_selected_action": group.selected}
    assert "3 jobs" in admin.post(list_address(Job), data).content.decode()
    assert Job.objects.filter(run_at__lte=Now()).count() == 0
    admin.post(list_address(Job), {**data, "confirmed": "yes"})
    assert Job.objects.filter(run_at__lte=Now()).count() == 3
    assert LogEntry.objects.filter(change_message__startswith="Run now").count() == 3


def test_jobs_that_ended_lately_are_grouped_without_verbs(admin, failing):
    Job.objects.update(state="failed", finished_at=Now(), encrypted=None)
    assert not live_groups()
    assert [group.number for group in ended_groups()] == [3]
    assert 'name="_selected_action"' not in admin.get(FAILING).content.decode()
    Job.objects.update(finished_at=Now() - timedelta(days=2))
    assert not ended_groups()


def test_a_failed_create_has_the_host_on_which_it_failed(admin, failing, world):
    for job in failing:
        remove(job.instance)
        Job.objects.filter(pk=job.pk).update(
            state="failed", finished_at=Now(), encrypted=None, error="The host does not answer."
        )
    [group] = ended_groups()
    assert (group.number, group.host) == (3, world.host)
    assert world.host.label in strip_tags(admin.get(page_address(failing[0])).content.decode())
    listed = admin.get(list_address(Job), {"host": world.host.pk}).context["cl"].result_list
    assert {job.pk for job in listed} == {job.pk for job in failing}


def test_the_page_costs_the_same_however_many_fail(admin, failing, world):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(FAILING).status_code == 200
        return len(queries)

    cost()
    few = cost()
    for _ in range(4):
        Job.objects.filter(pk=world.create().jobs.get().pk).update(error="No.", attempt=3)
    assert cost() == few


def test_the_page_needs_the_permission_to_see_jobs(client, failing, onlooker):
    client.force_login(User.objects.create_user("newcomer", "new@example.com", is_staff=True))
    assert client.get(FAILING).status_code == 403
    assert 'name="_selected_action"' not in onlooker.get(FAILING).content.decode(), "to look is not to act"
    assert Client().get(FAILING).status_code == 302


def test_the_list_of_jobs_and_the_first_page_lead_there(admin, failing):
    assert FAILING in admin.get(list_address(Job)).content.decode()
    assert FAILING in admin.get(reverse("admin:index")).content.decode()


# --- slower than usual ----------------------------------------------------------------------------------


@pytest.fixture
def usually(world, monkeypatch) -> Job:
    """A live job of a kind that took ten seconds three times, four of them for its disks."""
    monkeypatch.setattr(usual_times, "MIN_JOBS", 3)
    for _ in range(3):
        job = world.create().jobs.get()
        Job.objects.filter(pk=job.pk).update(
            state="done",
            encrypted=None,
            created=Now() - HOUR,
            finished_at=Now() - HOUR + timedelta(seconds=10),
            step_seconds={"define": 1, "disks": 4, "boot": 5},
        )
    return world.create().jobs.get()


def test_the_usual_times_of_a_kind_and_of_its_steps_are_those_of_its_newest_jobs(usually):
    found = usual_times.usual_times()
    assert found.jobs == {"provision": timedelta(seconds=10)}
    assert found.steps == {
        ("provision", step): timedelta(seconds=each) for step, each in (("define", 1), ("disks", 4), ("boot", 5))
    }
    assert usual_times.limit_of(timedelta(seconds=10)) == timedelta(seconds=90)


def test_a_job_that_takes_much_longer_is_slow_though_its_deadline_is_far(admin, usually):
    times = usual_times.usual_times()
    Job.objects.filter(pk=usually.pk).update(created=Now() - timedelta(seconds=80), run_at=Now() + HOUR)
    assert not Job.objects.filter(usual_times.slow(times)).exists()
    Job.objects.filter(pk=usually.pk).update(created=Now() - timedelta(seconds=100))
    assert list(Job.objects.filter(usual_times.slow(times))) == [usually]
    assert "Jobs that take much longer than usual: 1" in admin.get(reverse("admin:index")).content.decode()
    assert list(admin.get(list_address(Job), {"now": "slow"}).context["cl"].result_list) == [usually]


def test_a_job_is_slow_where_its_present_step_takes_much_longer(admin, usually):
    times = usual_times.usual_times()
    late = {"step_began": Now() - timedelta(seconds=74), "run_at": Now() + HOUR}
    Job.objects.filter(pk=usually.pk).update(step="disks", **late)
    assert list(Job.objects.filter(usual_times.slow(times))) == [usually], "its limit is 72 seconds"
    assert list(admin.get(list_address(Job), {"now": "slow"}).context["cl"].result_list) == [usually]
    Job.objects.filter(pk=usually.pk).update(step="levitate")
    assert not Job.objects.filter(usual_times.slow(times)).exists(), "a step that none has left has no usual time"
    Job.objects.filter(pk=usually.pk).update(step="disks", state="undoing")
    assert not Job.objects.filter(usual_times.slow(times)).exists(), "it is undone, which is something else"
    Job.objects.filter(pk=usually.pk).update(state="done", finished_at=Now(), encrypted=None)
    assert not Job.objects.filter(usual_times.slow(times)).exists()


def test_jobs_of_an_earlier_release_have_no_times_of_steps(usually):
    Job.objects.filter(state="done").update(step_seconds={})
    found = usual_times.usual_times()
    assert found.jobs == {"provision": timedelta(seconds=10)}
    assert found.steps == {}


def steps_of(admin, job: Job) -> list[tuple[str, ...]]:
    [panel] = admin.get(page_address(job)).context["panels"]
    return [(*map(strip_tags, row.cells), row.tone) for row in panel.rows]


def test_a_jobs_page_has_the_time_of_each_step_and_the_usual_time(admin, usually):
    steps = {"define": 2.5}
    Job.objects.filter(pk=usually.pk).update(step="disks", step_seconds=steps, step_began=Now() - 2 * HOUR)
    first, second, third = steps_of(admin, usually)
    assert first == ("define", "2.5 s", "1.0 s", "", "")
    assert second == ("disks", "2 h so far", "4.0 s", "now, much longer than usual", "bad")
    assert third == ("boot", "–", "5.0 s", "", "")
    Job.objects.filter(pk=usually.pk).update(step="levitate", step_began=Now() - 2 * HOUR)
    assert steps_of(admin, usually)[3] == ("levitate", "2 h so far", "–", "now", "busy"), "another release's step"


def test_a_jobs_page_has_the_undos_as_they_come(admin, usually):
    Job.objects.filter(pk=usually.pk).update(
        state="undoing", step="define", step_began=Now() - 2 * HOUR,
        step_seconds={"define": 1, "disks": 80, "undo disks": 3},
    )  # fmt: skip
    *steps, disks, define = steps_of(admin, usually)
    assert [row[0] for row in steps] == ["define", "disks", "boot"]
    assert disks == ("undo disks", "3.0 s", "–", "", "")
    assert define == ("undo define", "2 h so far", "–", "now", "busy")


def test_kinds_of_which_too_few_have_ended_have_no_usual_time(usually, monkeypatch):
    monkeypatch.setattr(usual_times, "MIN_JOBS", 4)
    assert usual_times.usual_times() == usual_times.Usual({}, {})
    assert not Job.objects.filter(usual_times.slow(usual_times.usual_times())).exists()
