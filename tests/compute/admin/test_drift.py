"""Drift in the admin: the lists, and the verb of each kind."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from compute.models import Drift, Host, Instance, Job
from compute.services.hosts import drift_records
from tests.compute.run_jobs import work
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db

Kind = Drift.Kind
VERBS = {
    "Quarantine": {Kind.UNKNOWN_MACHINE, Kind.UNKNOWN_DISK, Kind.UNKNOWN_VOLUME, Kind.WRONG_HOST},
    "Delete for good": {Kind.SET_ASIDE, Kind.LEFTOVER, Kind.SHELL},
    "Define it again": {Kind.MISSING_MACHINE, Kind.WRONG_SIZE},
    "Set the host to this one": {Kind.WRONG_HOST},
    "Compare again": {Kind.MISSING_DISK, Kind.MISSING_VOLUME, Kind.WRONG_POWER},
}


def drift(host: Host, kind: str, name: str = "skerry-999999", **fields) -> Drift:
    return Drift.objects.create(**{"host": host, "kind": kind, "name": name, "seen": 2, **fields})


def offered(admin, row: Drift) -> list[str]:
    """Return the verbs on the page of a drift."""
    response = admin.get(page_address(row))
    assert response.status_code == 200
    return [button.label for button in response.context["verbs"]]


@pytest.mark.parametrize("kind", Kind.values)
def test_each_kind_has_its_verb_once_it_is_confirmed(admin, running, kind):
    row = drift(running.host, kind, instance=running)
    verbs = [label for label, kinds in VERBS.items() if kind in kinds]
    assert offered(admin, row) == verbs
    assert len(verbs) == (2 if kind == Kind.WRONG_HOST else 1)
    Drift.objects.update(seen=1)
    assert offered(admin, row) == []
    Drift.objects.update(seen=2, resolved_at=Now())
    assert offered(admin, row) == []


def test_the_list_is_cut_down_and_searched(admin, running):
    other = HostFactory(region=running.region)
    drift(running.host, Kind.UNKNOWN_MACHINE, "skerry-111111")
    drift(other, Kind.SHELL, "skerry-222222", instance=running)
    drift(other, Kind.LEFTOVER, "incoming/333333", seen=1)
    drift(other, Kind.LEFTOVER, "incoming/444444", resolved_at=Now())
    every = {"skerry-111111", "skerry-222222", "incoming/333333", "incoming/444444"}
    for query, found in (
        ({}, every),
        ({"state": "open"}, {"skerry-111111", "skerry-222222"}),
        ({"state": "once"}, {"incoming/333333"}),
        ({"state": "over"}, {"incoming/444444"}),
        ({"state": "nonsense"}, every),
        ({"kind__exact": "shell"}, {"skerry-222222"}),
        ({"host__id__exact": other.pk}, every - {"skerry-111111"}),
        ({"q": "skerry-1"}, {"skerry-111111"}),
        ({"q": running.label}, {"skerry-222222"}),
    ):
        page = admin.get(list_address(Drift), query).content.decode()
        assert {name for name in every if name in page} == found, query


def test_the_list_has_a_fixed_number_of_queries(admin, running):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin.get(list_address(Drift)).status_code == 200
        return len(captured)

    drift(running.host, Kind.UNKNOWN_MACHINE)
    queries()
    few = queries()
    for number in range(8):
        drift(running.host, Kind.UNKNOWN_MACHINE, f"skerry-99999{number}0", instance=running)
    assert queries() == few


def test_setting_aside_asks_first_is_logged_and_is_a_job(admin, running, driver):
    driver.machines["skerry-999999"] = {**driver.machines[f"skerry-{running.pk}"]}
    row = drift(running.host, Kind.UNKNOWN_MACHINE)
    asked = admin.post(page_address(row).replace("/change/", "/do/set-aside/"))
    assert "is shut down first" in asked.content.decode()
    assert not Job.objects.filter(kind="set_aside_host_object").exists()

    messages = messages_of(do(admin, row, "set-aside"))
    job = Job.objects.get(kind="set_aside_host_object")
    assert f"job {job.pk} quarantines the object on {running.host}." in messages
    assert f"job {job.pk} quarantines the object" in LogEntry.objects.get().change_message
    assert job.created_by == "staff"
    assert "being repaired" in admin.get(list_address(Drift)).content.decode()
    assert "Busy" in messages_of(do(admin, row, "set-aside")) or "busy" in messages_of(do(admin, row, "set-aside"))
    work(job, driver)
    assert set(driver.aside) == {"aside/skerry-999999"}


def test_a_verb_of_another_kind_is_refused(admin, running):
    row = drift(running.host, Kind.UNKNOWN_MACHINE)
    for verb in ("delete", "define-again", "point-here"):
        assert "does not apply to a difference of this kind" in messages_of(do(admin, row, verb))
    assert not Job.objects.filter(kind="set_aside_host_object").exists()


def test_a_machine_is_defined_again(admin, running, driver):
    row = drift(running.host, Kind.MISSING_MACHINE, f"skerry-{running.pk}", instance=running)
    lost = driver.machines.pop(f"skerry-{running.pk}")
    driver.machines[f"skerry-{running.pk}"] = {**lost, "on": False}
    do(admin, row, "define-again")
    work(Job.objects.get(kind="redefine"), driver)
    running.refresh_from_db()
    assert running.status == "running"


def test_a_row_is_pointed_to_the_host_that_has_the_machine(admin, running):
    other = HostFactory(region=running.region)
    drift(running.host, Kind.MISSING_MACHINE, f"skerry-{running.pk}", instance=running)
    row = drift(other, Kind.WRONG_HOST, f"skerry-{running.pk}", instance=running)
    assert f"the database has the host {other} now." in messages_of(do(admin, row, "point-here"))
    assert Instance.objects.get(pk=running.pk).host == other


def test_a_host_is_compared_again(admin, running):
    row = drift(running.host, Kind.MISSING_DISK, "skerry-1-disk-1", instance=running)
    Host.objects.update(reconcile_at=Now() + timedelta(hours=1))
    assert drift_records.due() == []
    assert "will be compared with the database in a moment." in messages_of(do(admin, row, "compare-again"))
    assert drift_records.due() == [running.host_id]


def test_a_host_is_compared_from_its_own_page(admin, running):
    assert "compared with the database in a moment" in messages_of(do(admin, running.host, "compare"))
    assert drift_records.due() == [running.host_id]


def test_an_onlooker_sees_it_and_does_nothing(onlooker, running):
    row = drift(running.host, Kind.UNKNOWN_MACHINE)
    assert onlooker.get(page_address(row)).status_code == 200
    assert do(onlooker, row, "set-aside").status_code == 403


def test_drift_that_waits_for_staff_is_on_the_first_page(admin, running):
    drift(running.host, Kind.UNKNOWN_MACHINE)
    drift(running.host, Kind.SET_ASIDE, "aside/x")
    drift(running.host, Kind.SHELL, "once", seen=1)
    page = admin.get(reverse("admin:index")).content.decode()
    assert "Differences between hosts and the database: 1" in page
