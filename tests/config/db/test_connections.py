"""Settings of the project's database connections."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, models

from compute.models import Domain, Job
from config.db.connections import lock_waits
from tests.accounts.pages.browsers import sign_in
from tests.client import APIClient
from tests.factories import ConfigFactory, token_of
from tests.world import World

LOCKED = "Another change is in progress, try again"


@pytest.mark.django_db
def test_a_host_that_froze_in_a_transaction_holds_nothing_for_ever(settings):
    settings.TRANSACTION_IDLE_LIMIT = 1.0
    frozen = connection.copy()
    frozen.set_autocommit(False)
    try:
        with frozen.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(8162)")
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '60s'")
            cursor.execute("SELECT pg_advisory_xact_lock(8162)")
    finally:
        frozen.close()


@pytest.fixture
def serving(transactional_db, settings, monkeypatch) -> Iterator[None]:
    """Use a connection of a process that serves requests."""
    settings.LOCK_TIMEOUT = 0.1
    monkeypatch.setattr(lock_waits, "limited", True)
    connection.close()
    yield
    connection.close()


@contextmanager
def locked(row: models.Model) -> Iterator[None]:
    """Lock the row in another session."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute(f"SELECT FROM {row._meta.db_table} WHERE id = %s FOR UPDATE", [row.pk])
        yield
    finally:
        other.close()


def lock_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return cursor.fetchone()[0]


def test_only_processes_that_serve_requests_limit_their_waits(transactional_db, settings, monkeypatch):
    settings.LOCK_TIMEOUT = 7
    monkeypatch.setattr(lock_waits, "limited", False)  # an earlier test may have imported the server's modules
    connection.close()
    assert lock_timeout() == "0"
    monkeypatch.setattr(lock_waits, "limited", True)
    connection.close()
    assert lock_timeout() == "7s"
    connection.close()


def test_locked_account_answers_503(serving, world: World, caplog):
    api = APIClient(token_of(world.account.users.get()))
    with locked(world.account):
        answer = api.post("/v4/domains", {"domain": "example.com", "type": "master", "soa_email": "a@example.com"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json() == {"errors": [{"field": None, "reason": LOCKED}]}
    assert not Domain.objects.exists()
    assert "POST /v4/domains waited for a locked row of accounts_account" in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_locked_compute_is_busy(serving, world: World, caplog):
    instance = world.offline()
    api = APIClient(token_of(world.account.users.get()))
    config = ConfigFactory(instance=instance, kernel_id="compute/grub2")
    with locked(instance):
        booted = api.post(f"/v4/compute/instances/{instance.pk}/boot", {"config_id": config.pk})
        changed = api.put(f"/v4/compute/instances/{instance.pk}", {"group": "new"})
    for answer in (booted, changed):
        assert answer.status_code == 400
        assert answer.json() == {"errors": [{"field": None, "reason": "Compute busy."}]}
    assert not Job.objects.exists()
    assert "waited for a locked row of compute_instance" in caplog.text
    assert api.put(f"/v4/compute/instances/{instance.pk}", {"group": "new"}).status_code == 200


def test_browser_is_shown_a_page(serving, world: World, caplog):
    user = world.account.users.get()
    browser = sign_in("worldowner", user)
    key = {"label": "mine", "ssh_key": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{'A' * 43}"}
    browser.raise_request_exception = False
    with locked(user):
        answer = browser.post("/home/ssh-keys/new", key, headers={"Accept": "text/html"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Another change is in progress" in answer.content.decode()
    assert "POST /home/ssh-keys/new waited for a locked row of accounts_user" in caplog.text
