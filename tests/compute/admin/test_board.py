"""The figures of compute on the admin's first page."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.models import Event, User
from compute.admin import board
from compute.models import Host, Job
from tests.config.admin.pages import page_address

pytestmark = pytest.mark.django_db


def ended(kind: str = "boot", error: str = "", took: float = 4, ago: float = 60, **rest) -> Job:
    """Create a job that ended `ago` seconds ago, after `took` seconds."""
    finished = now() - timedelta(seconds=ago)
    state = rest.pop("state", "failed" if error else "done")
    job = Job.objects.create(
        kind=kind, step="x", deadline_at=now(), state=state, error=error, finished_at=finished, **rest
    )
    Job.objects.filter(pk=job.pk).update(created=finished - timedelta(seconds=took))
    return job


def page(browser: Client) -> str:
    return browser.get("/admin/").content.decode()


def figure(browser: Client, title: str):
    found = browser.get("/admin/").context["found"]
    return next(each for each in found.figures if each.title == title)


def test_instances_are_counted_by_region_and_status(admin, running, world):
    world.create(label="db-1")
    (row,) = figure(admin, "Instances by region and status").rows
    assert running.region_id in row.cells[0]
    assert (row.cells[1], row.cells[3]) == ("2", "1 provisioning, 1 running")


def test_capacity_is_in_gb_and_a_full_host_is_red_and_first(admin, running):
    Host.objects.update(memory=64 * 1024, vcpus=32, disk=1024 * 1024)
    Host.objects.filter(pk=running.host_id).update(memory=2048, memory_used=2048, vcpus_used=1, disk_used=51200)
    first = figure(admin, "Capacity of hosts").rows[0]
    assert page_address(running.host) in first.cells[0]
    assert "2 of 2 GB" in first.cells[1]
    assert 'class="bad"' in first.cells[1]
    assert "1 of 32" in first.cells[2]
    assert "50 of 1,024 GB" in first.cells[3]
    assert 'class="bad"' not in first.cells[3]


def test_a_host_that_does_not_answer_is_marked(admin, running):
    Host.objects.filter(pk=running.host_id).update(unreachable_since=now())
    assert "does not answer" in figure(admin, "Capacity of hosts").rows[0].cells[0]
    assert "1 do not answer" in page(admin)


def test_jobs_are_counted_by_minute_and_timed_by_kind(admin):
    for took in range(1, 21):
        ended(took=took)
    ended("shutdown", error="No.", ago=300)
    chart = figure(admin, "Jobs that ended, per minute")
    assert chart.description.startswith("21 jobs ended in the last three hours, 1 of them failed.")
    (row,) = figure(admin, "Time of jobs by kind").rows
    assert "boot" in row.cells[0]
    assert (row.cells[1], *row.cells[3:]) == ("20", "10 s", "19 s", "20 s")


def test_failures_are_alike_but_for_numbers_and_ids(admin):
    ended(error="Disk 17 of 4f1d9c1e-7f7a-4f0b-bd3b-0b9d2a6dca11 is gone.")
    last = ended("rebuild", error="Disk 18 of 0a1d9c1e-7f7a-4f0b-bd3b-0b9d2a6dca12 is gone.")
    ended(error="Other.")
    ended(error="Cancelled.", cancelled=True)
    ended(error=Event.SUPERSEDED)
    ended(error="Long ago.", ago=90_000)
    first, second = figure(admin, "Failed jobs by reason").rows
    assert "Disk … of … is gone." in first.cells[0]
    assert page_address(last) in first.cells[0]
    assert first.cells[1:3] == ("boot, rebuild", "2")
    assert "Other." in second.cells[0]


def test_texts_of_customers_and_drivers_are_escaped(admin):
    ended(error="<script>alert()</script>")
    assert "<script>alert" not in page(admin)


def test_a_figure_of_the_newest_jobs_only_has_a_note(admin, monkeypatch):
    monkeypatch.setattr(board, "MAX_JOBS", 2)
    for _ in range(3):
        ended()
    assert figure(admin, "Jobs that ended, per minute").description.startswith("2 jobs ended")
    assert figure(admin, "Jobs that ended, per minute").note.startswith("Only the newest 2 jobs are counted")


def test_an_empty_platform_has_a_first_page(admin, db):
    Job.objects.all().delete()
    shown = page(admin)
    assert "No job ended in the last three hours." in shown
    assert "No job failed in the last day." in shown


def test_the_board_shows_only_permitted_figures(running):
    user = User.objects.create_user("clerk", "clerk@example.com", "a-password", is_staff=True)
    browser = Client()
    browser.force_login(user)
    found = browser.get("/admin/").context["found"]
    assert (found.numbers, found.figures) == ([], [])
    user.user_permissions.set(Permission.objects.filter(codename="view_host"))
    found = browser.get("/admin/").context["found"]
    assert [each.title for each in found.figures] == ["Capacity of regions", "Capacity of hosts"]


def test_the_page_costs_the_same_however_much_happened(admin, running, world):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get("/admin/").status_code == 200
        return len(queries)

    ended()
    cost()
    few = cost()
    for number in range(5):
        world.create(label=f"more-{number}")
        ended("shutdown", error=f"Reason {'x' * number}.")
    assert cost() == few


def test_jobs_are_read_by_their_key(db):
    """The planner reads a range of the key, not the whole table. The statistics are those of a large table."""
    Job.objects.bulk_create(
        (Job(kind="boot", step="x", state="done", deadline_at=now(), finished_at=now()) for _ in range(3000)),
        batch_size=1000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE compute_job")
    edge = Job.objects.order_by("-pk").values_list("pk", flat=True)[50]
    plan = Job.objects.order_by().filter(pk__gte=edge, finished_at__gte=now() - board.HOURS).explain()
    assert "compute_job_pkey" in plan
    assert "Seq Scan" not in plan
