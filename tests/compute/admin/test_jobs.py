"""Jobs that are stuck, and how staff restart them."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.html import strip_tags

from compute.admin.job_status import JobProgress, with_progress
from compute.models import Job
from compute.services.instances import instances, power
from compute.worker import engine
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def job(world, running, settings) -> Job:
    """A reboot that no worker has begun. It is overdue after half an hour."""
    settings.JOB_NOTIFY_PATIENCE = 225
    return power.reboot(world.actor, running)


def status_of(job: Job, **columns) -> JobProgress:
    Job.objects.filter(pk=job.pk).update(**columns)
    return JobProgress(with_progress(Job.objects).get(pk=job.pk))


STAGES_OF_JOBS = [
    pytest.param({}, "due", False, "due since", id="fresh"),
    pytest.param({"run_at": Now() - 3 * HOUR}, "overdue", True, "due since 3 h", id="no worker took it"),
    pytest.param({"run_at": Now() + HOUR}, "waiting", False, "runs in", id="waits for the host"),
    pytest.param(
        {"run_at": Now() + HOUR, "attempt": 2, "error": "No."}, "retrying", True, "runs in", id="failed before"
    ),
    pytest.param({"lease_until": Now() + HOUR, "attempt": 1}, "leased", False, "running", id="a worker has it"),
    pytest.param(
        {"lease_until": Now() + HOUR, "attempt": 3, "error": "No."}, "leased", True, "running", id="tries again"
    ),
    pytest.param(
        {"run_at": Now() - 3 * HOUR, "lease_until": Now() - 2 * HOUR, "attempt": 1},
        "overdue", True, "due since 2 h", id="its worker died",
    ),
    pytest.param({"deadline_at": Now() - MINUTE}, "due", True, "due since", id="past its deadline"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "progress", "stuck", "timing"), STAGES_OF_JOBS)
def test_a_jobs_progress(columns, progress, stuck, timing, job):
    found = status_of(job, **columns)
    assert (found.job.progress, found.stuck) == (progress, stuck)
    assert timing in found.timing()


def test_a_job_that_waits_for_a_host_names_it_while_there_is_one(world, job):
    later = {"run_at": Now() + HOUR}
    assert f"waits until {world.host} answers" in status_of(job, waits_for=world.host, **later).timing()
    assert "waits until its host answers" in status_of(job, waits_for=999_999, **later).timing()


def test_an_undoing_job_shows_its_reason_and_its_error(admin, job, driver):
    job.refresh_from_db()
    data = {**job.data, "undo_reason": "No such disk: skerry-1-1"}
    Job.objects.filter(pk=job.pk).update(state="undoing", data=data)
    page = admin.get(page_address(job)).content.decode()
    assert '<span class="problem">Undone because: No such disk: skerry-1-1</span>' in page
    Job.objects.filter(pk=job.pk).update(error="Unexpected: OSError: no route")
    both = admin.get(list_address(Job)).content.decode()
    assert "Unexpected: OSError: no route" in both
    assert "Undone because: No such disk: skerry-1-1" in both
    Job.objects.filter(pk=job.pk).update(
        state="failed", error="No such disk: skerry-1-1", finished_at=Now(), encrypted=None
    )
    assert "Undone because" not in admin.get(page_address(job)).content.decode()


def test_the_exception_of_a_driver_is_on_the_jobs_page(admin, job, monkeypatch):
    class Broken(MemoryDriver):
        def stop(self, *args, **kwargs):
            raise KeyError("virsh said: domain not found")

    engine.run(job.pk, Broken())
    assert "KeyError: &#x27;virsh said: domain not found&#x27;" in admin.get(page_address(job)).content.decode()


def test_an_event_leads_to_its_job_and_back(admin, job, world):
    page = admin.get(page_address(job.event)).content.decode()
    assert f'<a href="{page_address(job)}">reboot {job.pk}</a>' in page
    assert "due now" in page
    assert f'href="{page_address(job.event)}"' in admin.get(page_address(job)).content.decode()
    Job.objects.filter(pk=job.pk).update(event=None)
    assert "its job reports to a later event now" in admin.get(page_address(job.event)).content.decode()


def test_a_dead_workers_lease_is_called_expired(job):
    assert status_of(job, lease_until=Now() - 2 * HOUR).lease().startswith("expired 2 h")
    assert status_of(job, lease_until=Now() + HOUR).lease().startswith("until")


def test_a_kind_of_another_release_does_not_break_the_page(admin, job):
    Job.objects.filter(pk=job.pk).update(kind="levitate", step="rise")
    assert "rise" in admin.get(page_address(job)).content.decode()


def test_data_of_another_release_does_not_break_the_pages(admin, job, running):
    Job.objects.filter(pk=job.pk).update(kind="resize", step="stop", data={})
    for address in (page_address(job), list_address(Job), page_address(running)):
        assert "stop" in admin.get(address).content.decode()


@pytest.mark.parametrize(
    ("chosen", "columns"),
    [
        ("overdue", {"run_at": Now() - HOUR}),
        ("stuck", {"run_at": Now() - HOUR}),
        ("retrying", {"error": "No.", "attempt": 1, "run_at": Now() + HOUR}),
        ("stuck", {"error": "No.", "attempt": 1, "run_at": Now() + HOUR}),
        ("leased", {"lease_until": Now() + HOUR}),
        ("waiting", {"run_at": Now() + HOUR}),
        ("live", {}),
    ],
)
def test_the_list_shows_those_asked_for(chosen, columns, admin, job):
    others = {"overdue", "retrying", "leased", "waiting"} - {chosen}
    Job.objects.filter(pk=job.pk).update(**columns)
    assert list(shown(admin, chosen)) == [job]
    if chosen in others | {"overdue", "leased", "waiting"}:
        assert not any(job in shown(admin, other) for other in others)


def shown(admin, chosen: str):
    return admin.get(list_address(Job), {"now": chosen}).context["cl"].result_list


@pytest.mark.parametrize("word", ["web-1", "WEB"])
def test_a_job_is_found_by_its_instance(word, admin, job, running):
    for asked in (word, str(running.pk)):
        assert job in admin.get(list_address(Job), {"q": asked}).context["cl"].result_list


def test_run_now_makes_a_retrying_job_due_and_notifies(admin, job, driver, notified):
    driver.before = failing_at(len(driver.calls))
    engine.run(job.pk, driver)
    Job.objects.filter(pk=job.pk).update(run_at=Now() + HOUR)
    notified.clear()

    do(admin, job, "run_now")

    assert Job.objects.filter(pk=job.pk, run_at__lte=Now()).exists()
    assert "Run now: the job is due now" in LogEntry.objects.get().change_message


@pytest.mark.django_db(transaction=True)
def test_run_now_notifies_after_the_commit(admin, job, notified):
    notified.clear()
    do(admin, job, "run_now")
    assert notified == [job.pk]


def test_run_now_refuses_a_running_job(admin, job):
    Job.objects.filter(pk=job.pk).update(lease_until=Now() + HOUR)
    assert "a worker runs it now" in messages_of(do(admin, job, "run_now"))


def test_cancel_makes_it_unwind(admin, job, driver, running):
    do(admin, job, "cancel")
    for _ in range(4):
        engine.run(job.pk, driver)
    job.refresh_from_db()
    running.refresh_from_db()
    assert (job.state, job.error) == ("failed", "Cancelled.")
    assert running.status == "running"


def test_a_finished_job_refuses_both(admin, running):
    done = running.jobs.get()
    for verb in ("run_now", "cancel"):
        assert "The job is finished" in messages_of(do(admin, done, verb))
    assert LogEntry.objects.filter(change_message__contains="refused").count() == 2


def test_the_list_cancels_many_after_asking(admin, job):
    data = {"action": "cancel", "_selected_action": [job.pk]}
    assert "undoes its steps" in admin.post(list_address(Job), data).content.decode()
    admin.post(list_address(Job), {**data, "confirmed": "yes"})
    job.refresh_from_db()
    assert job.cancelled


def test_a_button_on_the_instances_page_returns_there(admin, job, running):
    page = page_address(running)
    assert f"next={page.replace('/', '%2F')}" in admin.get(page).content.decode()
    address = page_address(job).replace("/change/", "/do/run_now/")
    assert admin.post(f"{address}?next={page}").headers["Location"] == page


def test_verbs_redirect_to_no_other_site(admin, job):
    address = page_address(job).replace("/change/", "/do/run_now/")
    assert admin.post(f"{address}?next=//elsewhere.example/").headers["Location"] == page_address(job)


def test_a_queued_deletion_is_shown_behind_the_live_job(admin, job, world, running):
    running.refresh_from_db()
    instances.delete(world.actor, running)
    text = admin.get(page_address(running)).content.decode()
    assert "behind the live job" in text
    assert "cancelled" in text


def test_the_index_names_stuck_jobs(admin, job, world, driver):
    index = reverse("admin:index")
    assert "All is well" in admin.get(index).content.decode()

    Job.objects.filter(pk=job.pk).update(run_at=Now() - HOUR)
    assert "Stuck jobs: 1 (1 overdue, 0 retrying)" in admin.get(index).content.decode()

    do(admin, job, "cancel")
    for _ in range(4):
        engine.run(job.pk, driver)
    text = admin.get(index).content.decode()
    assert "Stuck jobs" not in text
    assert "Failed in the last hour: 1 event" in text


def test_the_index_shows_nobody_more_than_they_may_see(job, client, db):
    from accounts.models import User

    Job.objects.filter(pk=job.pk).update(run_at=Now() - HOUR)
    client.force_login(User.objects.create_user("newcomer", "new@example.com", is_staff=True))
    assert "Stuck" not in client.get(reverse("admin:index")).content.decode()


# --- hosts ----------------------------------------------------------------------------------------------


def host_in_list(admin, job: Job) -> str:
    listed = admin.get(list_address(Job)).context["cl"]
    row = next(row for row in listed.result_list if row.pk == job.pk)
    return strip_tags(listed.model_admin.host(row))


def test_a_move_has_both_its_hosts_wherever_the_instance_is_now(admin, job, running, world):
    away, beyond = HostFactory(region=world.region), HostFactory(region=world.region)
    data = {**job.data, "previous_host": world.host.pk, "host": away.pk}
    Job.objects.filter(pk=job.pk).update(kind="migrate", data=data)
    assert host_in_list(admin, job) == f"{world.host} → {away}"
    type(running).objects.filter(pk=running.pk).update(host=beyond)
    assert host_in_list(admin, job) == f"{world.host} → {away}"
    assert page_address(away) in admin.get(page_address(job)).content.decode()
    Job.objects.filter(pk=job.pk).update(data={**data, "host": world.host.pk})
    assert host_in_list(admin, job) == str(world.host), "a resize that stayed"


def test_a_job_that_keeps_no_host_has_the_instances(admin, job, running, world):
    assert host_in_list(admin, job) == str(world.host)
    Job.objects.filter(pk=job.pk).update(data={**job.data, "host": 10**9})
    assert host_in_list(admin, job) == str(world.host), "nor does one whose host is gone"
