"""Hourly averages, made while services are checked and deleted: real threads on a real database."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from accounts.actors import Actor
from managed.models import Measurement, Service
from managed.services import services
from managed.services.probing import claim, settle, thin
from tests.managed.watched import UP, managed_account, watch

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)


@pytest.fixture
def service() -> Service:
    """Create a service that was checked two hours ago."""
    made = watch(managed_account(), label="shop")
    Measurement.objects.create(service=made, at=NOW - timedelta(hours=2), milliseconds=5)
    return made


def delete(service: Service) -> None:
    services.delete(Actor(service.account_id, username="owner"), service)


def in_thread(action: Callable[[], object]) -> tuple[threading.Thread, list]:
    """Run `action` in another transaction. Returns when it has ended or waits for a lock of ours.

    Returns the thread, and a list with its result or its refusal.
    """
    results: list = []

    def act() -> None:
        try:
            results.append(action())
        except Exception as error:  # noqa: BLE001 - for the test to look at
            results.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=act)
    thread.start()
    with connection.cursor() as cursor:
        waits = False
        while thread.is_alive() and not waits:
            # locks of this connection, because other tests wait on the same server
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_locks"
                " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
            )
            [waits] = cursor.fetchone()
    return thread, results


def test_a_service_that_is_being_deleted_spoils_no_averages(service):
    other = watch(service.account)
    Measurement.objects.create(service=other, at=NOW - timedelta(hours=2), milliseconds=5)
    with transaction.atomic():
        delete(service)
        thread, results = in_thread(lambda: thin(NOW))
    thread.join()
    assert results == [None]
    averages = Measurement.objects.filter(span=Measurement.Span.HOUR)
    assert list(averages.values_list("service", flat=True)) == [other.pk]


def test_deleting_a_service_waits_for_its_averages(service):
    with transaction.atomic():
        thin(NOW)
        thread, results = in_thread(lambda: delete(service))
        assert thread.is_alive()
    thread.join()
    assert results == [None]
    assert not Service.objects.exists()
    assert not Measurement.objects.exists()


def test_checks_do_not_wait_for_averages(service):
    with transaction.atomic():
        thin(NOW)
        thread, results = in_thread(lambda: [settle(probe, UP) for probe in claim(10)])
        assert not thread.is_alive()
    thread.join()
    assert results == [[True]]
