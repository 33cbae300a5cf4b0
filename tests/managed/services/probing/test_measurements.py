"""Measurements of checks, and their hourly averages."""

from datetime import UTC, datetime, timedelta

import pytest

from managed.models import Measurement, Service
from managed.services.probing import thin
from tests.managed.watched import DOWN, UP, clock, settle, state, watch

pytestmark = pytest.mark.django_db


NOW = datetime(2026, 3, 10, 12, 7, tzinfo=UTC)


def measure(service: Service, at: datetime, milliseconds: float | None) -> None:
    failed = int(milliseconds is None)
    Measurement.objects.create(service=service, at=at, failed=failed, milliseconds=milliseconds)


def hours(service: Service) -> list[tuple]:
    found = Measurement.objects.filter(service=service, span=Measurement.Span.HOUR).order_by("at")
    return list(found.values_list("at", "checks", "failed", "milliseconds"))


def at(hour: int, minute: int = 0, day: int = 10) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def test_each_check_is_measured(service):
    settle(service, UP, DOWN)
    found = Measurement.objects.order_by("at").values_list("span", "checks", "failed", "milliseconds")
    assert list(found) == [(0, 1, 0, 12.5), (0, 1, 1, None)]


def test_an_hour_becomes_the_average_of_its_checks(account):
    service, other = watch(account), watch(account)
    for minute, milliseconds in ((0, 10.0), (20, None), (40, 20.0), (59, 60.0)):
        measure(service, at(10, minute), milliseconds)
    measure(service, at(11, 0), 5.0)
    measure(other, at(10, 30), None)
    thin(NOW)
    assert hours(service) == [(at(10), 4, 1, 30.0), (at(11), 1, 0, 5.0)]
    assert hours(other) == [(at(10), 1, 1, None)]


def test_an_hour_that_is_not_over_is_left_alone(service):
    measure(service, at(11, 59), 10.0)
    measure(service, at(12, 1), 10.0)
    thin(at(12, 4))
    assert hours(service) == [], "what was checked in its last minute may still be written"
    thin(at(12, 5))
    assert hours(service) == [(at(11), 1, 0, 10.0)]


def test_thinning_again_changes_nothing(service):
    measure(service, at(10, 30), 10.0)
    thin(NOW)
    before = state()
    measure(service, at(10, 31), 99.0)
    thin(NOW)
    thin(NOW + timedelta(minutes=10))
    assert hours(service) == [(at(10), 1, 0, 10.0)]
    assert len(state()[5]) == len(before[5]) + 1


def test_hours_that_were_missed_are_made_up_for(service, settings):
    settings.MEASUREMENTS_KEPT = timedelta(days=5)
    for day in (6, 7, 8, 9, 10):
        measure(service, at(9, 30, day), float(day))
    thin(at(10, 10, 6))
    thin(NOW)
    assert [row[0].day for row in hours(service)] == [6, 7, 8, 9, 10]


def test_old_measurements_are_deleted(service, settings):
    settings.MEASUREMENTS_KEPT, settings.HOURLY_MEASUREMENTS_KEPT = timedelta(days=2), timedelta(days=90)
    measure(service, NOW - timedelta(days=3), 7.0)
    measure(service, NOW - timedelta(days=1), 8.0)
    Measurement.objects.create(service=service, span=3600, at=at(12) - timedelta(days=91), checks=60)
    thin(NOW)
    left = Measurement.objects.order_by("at").values_list("span", "milliseconds")
    assert list(left) == [(3600, 7.0), (3600, 8.0), (0, 8.0)], "averaged before it went"


def test_thinning_goes_by_the_databases_clock(service):
    measure(service, clock() - timedelta(hours=2), 10.0)
    thin()
    assert len(hours(service)) == 1
