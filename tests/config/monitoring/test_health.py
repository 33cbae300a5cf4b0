"""Liveness and readiness of a process, for load balancers."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from compute.models import Heartbeat
from compute.services import heartbeats, missing_processes
from config.version import VERSION
from tests.messages import messages


@pytest.fixture(autouse=True)
def started_long_ago(monkeypatch):
    monkeypatch.setattr(missing_processes, "starting", lambda: False)


@pytest.fixture
def at_work(db):
    for kind, queues in (("worker", ["celery", "clock"]), ("clock", [])):
        heartbeats.record(heartbeats.Process(kind, VERSION), queues)
    Heartbeat.objects.update(seen=Now() + timedelta(hours=1))  # however long the first request takes


def test_livez_makes_no_query(client):
    """The test may not use the database, so a query would fail."""
    assert client.get("/livez").json() == {"status": "ok"}


def test_the_release_is_shown(client):
    assert client.get("/version").json() == {"version": VERSION, "api": "4.141.0"}


def test_a_process_is_ready_while_all_is_there(client, at_work):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "problems": {}})


def test_a_process_is_ready_without_those_that_do_the_rest_and_says_who_is_missing(client, db):
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert answer.json()["problems"].keys() == {"worker", "clock"}
    assert answer.json()["problems"]["clock"].startswith("No clock runs")


def test_a_process_is_ready_while_messages_wait_and_says_so(client, at_work, settings):
    with messages(settings) as broker:
        broker.send("clock", age=-3600)
        assert client.get("/readyz").json() == {"status": "ok", "problems": {}}
        broker.send("celery", age=missing_processes.LATE_SECONDS + 90, priority=6)
        answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert answer.json()["problems"].keys() == {"queue"}
    assert "Messages wait: 1 in the queue celery, the oldest for " in answer.json()["problems"]["queue"]


def test_no_database_no_use(client, at_work, monkeypatch):
    def gone(*args):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", gone)
        patch.setattr(connection, "close", lambda: None)
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["problems"].keys() == {"database"}


def test_tables_of_an_earlier_release_are_of_no_use(client, at_work):
    newest = MigrationRecorder.Migration.objects.filter(app="compute").latest("name")
    newest.delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "problems": {"migrations": f"Migrations are missing: compute.{newest.name}."},
    }


def test_tables_of_a_later_release_are(client, at_work):
    MigrationRecorder.Migration.objects.create(app="compute", name="9999_of_tomorrow")
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/version", "/metrics"])
def test_they_are_for_reading(client, db, path):
    assert client.post(path).status_code == 405
