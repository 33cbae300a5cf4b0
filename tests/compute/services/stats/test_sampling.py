"""Samples: made from counters, counted once, and thinned out."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from compute.drivers.base import DriverError, Usage
from compute.models import Meter, Sample, Transfer
from compute.services.stats.sampling import COUNTERS, SPAN, record, thin
from compute.worker.sampling import sample
from tests.compute.memory_driver import MemoryDriver
from tests.factories import HostFactory, InstanceFactory

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 10, 12, 0, 30, tzinfo=UTC)
STEP = timedelta(seconds=SPAN)


def counters(**given: float) -> dict[str, float]:
    return {**dict.fromkeys(COUNTERS, 0), **given}


@pytest.fixture
def instance(db):
    return InstanceFactory()


def test_the_counters_of_a_driver_are_those_that_are_recorded():
    assert (*Usage.__slots__,) == ("machine", *COUNTERS)


def test_a_sample_is_the_growth_of_the_counters_for_each_second(instance):
    assert record({instance.pk: counters(cpu=100, io=50, v4_in=1000)}, NOON) == 0, "the first reading is no sample"
    assert record({instance.pk: counters(cpu=250, io=3050, v4_in=31000)}, NOON + STEP) == 1
    taken = Sample.objects.get()
    assert (taken.cpu, taken.io, taken.v4_in) == (50.0, 10.0, 800.0)
    assert taken.at == datetime(2026, 3, 10, 12, 5, tzinfo=UTC)


def test_counters_that_begin_again_count_from_zero(instance):
    record({instance.pk: counters(cpu=1000, v4_out=5000)}, NOON)
    record({instance.pk: counters(cpu=30, v4_out=600)}, NOON + STEP)
    assert Sample.objects.get().cpu == 10.0
    assert Transfer.objects.get().sent == 5600


def test_a_reading_that_was_missed_is_made_up_for_by_the_next(instance):
    record({instance.pk: counters(v4_out=0)}, NOON)
    record({instance.pk: counters(v4_out=9000)}, NOON + 3 * STEP)
    assert Sample.objects.get().v4_out == 80.0
    assert Transfer.objects.get().sent == 9000


def test_a_second_reading_within_five_minutes_changes_nothing_and_loses_nothing(instance):
    record({instance.pk: counters(v4_in=0)}, NOON)
    record({instance.pk: counters(v4_in=100)}, NOON + STEP)
    assert record({instance.pk: counters(v4_in=150)}, NOON + STEP + timedelta(seconds=20)) == 0
    assert (Sample.objects.count(), Transfer.objects.get().received) == (1, 100)
    record({instance.pk: counters(v4_in=300)}, NOON + 2 * STEP)
    assert Transfer.objects.get().received == 300


def test_transfer_is_public_traffic_of_its_month(instance):
    end = datetime(2026, 3, 31, 23, 58, tzinfo=UTC)
    record({instance.pk: counters()}, end - STEP)
    record({instance.pk: counters(v4_out=10, v6_out=5, v4_in=3, v6_in=1, v4_private_out=99)}, end)
    record({instance.pk: counters(v4_out=30, v6_out=5, v4_in=3, v6_in=1, v4_private_out=99)}, end + STEP)
    rows = Transfer.objects.order_by("month").values_list("month", "sent", "received")
    assert [(str(month), sent, received) for month, sent, received in rows] == [
        ("2026-03-01", 15, 4), ("2026-04-01", 20, 0),
    ]  # fmt: skip


def test_instances_that_are_deleted_meanwhile_are_left_out(instance):
    pk = instance.pk
    instance.delete()
    assert record({pk: counters()}, NOON) == 0
    assert not Meter.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_that_read_at_once_count_once(instance):
    record({instance.pk: counters()}, NOON)

    def read(_) -> int:
        try:
            return record({instance.pk: counters(v4_out=7)}, NOON + STEP)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(read, range(6))) == 1
    assert Transfer.objects.get().sent == 7


def test_it_takes_as_many_queries_for_many_as_for_one(django_assert_num_queries):
    instances = InstanceFactory.create_batch(20)
    record({each.pk: counters() for each in instances}, NOON)
    with django_assert_num_queries(9):
        record({each.pk: counters(cpu=1) for each in instances}, NOON + STEP)


class TestHosts:
    def test_every_host_is_asked_once_for_all_its_machines(self, monkeypatch):
        first, second = InstanceFactory(), InstanceFactory(host=HostFactory(label="other"))
        driver = MemoryDriver()
        asked = []
        usage = MemoryDriver.usage
        monkeypatch.setattr(MemoryDriver, "usage", lambda self: asked.append(self.host) or usage(self))
        for each in (first, second):
            driver.machines[f"skerry-{each.pk}"] = {"on": True, "host": str(each.host.uuid), "disks": {}}
        sample(driver)
        assert sorted(asked) == sorted({str(first.host.uuid), str(second.host.uuid)})
        assert Meter.objects.count() == 2

    def test_a_host_that_is_down_does_not_delay_others(self, monkeypatch):
        first, second = InstanceFactory(), InstanceFactory(host=HostFactory(label="other"))
        driver = MemoryDriver()
        driver.machines[f"skerry-{second.pk}"] = {"on": True, "host": str(second.host.uuid), "disks": {}}
        usage = MemoryDriver.usage

        def down(self: MemoryDriver):
            if self.host == str(first.host.uuid):
                raise DriverError("The host does not answer.")
            return usage(self)

        monkeypatch.setattr(MemoryDriver, "usage", down)
        sample(driver)
        assert list(Meter.objects.values_list("instance", flat=True)) == [second.pk]

    def test_machines_that_are_off_or_unknown_are_left_out(self):
        instance, driver = InstanceFactory(), MemoryDriver()
        driver.machines[f"skerry-{instance.pk}"] = {"on": False, "host": str(instance.host.uuid), "disks": {}}
        driver.machines["skerry-999999"] = {"on": True, "host": str(instance.host.uuid), "disks": {}}
        assert sample(driver) == 0
        assert not Meter.objects.exists()


class TestThinning:
    def fill(self, instance, start: datetime, count: int, step: timedelta = STEP, span: int = SPAN) -> None:
        zeros = dict.fromkeys(COUNTERS, 0.0)
        Sample.objects.bulk_create(
            Sample(instance=instance, span=span, at=start + n * step, **{**zeros, "cpu": float(n)})
            for n in range(count)
        )

    def test_hours_that_are_over_are_averaged_once(self, instance):
        start = datetime(2026, 3, 10, 10, tzinfo=UTC)
        self.fill(instance, start, 24)
        for _ in range(2):
            thin(datetime(2026, 3, 10, 12, 5, tzinfo=UTC))
        hours = Sample.objects.filter(span=Sample.Span.HOUR).order_by("at").values_list("at", "cpu")
        assert list(hours) == [(start, 5.5)], "the second hour may not be complete yet"
        thin(datetime(2026, 3, 10, 12, 17, tzinfo=UTC))
        assert Sample.objects.filter(span=Sample.Span.HOUR).count() == 2

    def test_days_that_are_over_are_averaged(self, instance):
        start = datetime(2026, 3, 9, tzinfo=UTC)
        self.fill(instance, start, 24, timedelta(hours=1), Sample.Span.HOUR)
        thin(datetime(2026, 3, 10, 0, 17, tzinfo=UTC))
        day = Sample.objects.get(span=Sample.Span.DAY)
        assert (day.at, day.cpu) == (start, 11.5)

    def test_old_samples_are_deleted_and_their_averages_stay(self, instance):
        start = datetime(2026, 3, 1, tzinfo=UTC)
        self.fill(instance, start, 12)
        thin(start + timedelta(hours=2))
        thin(start + timedelta(days=3))
        assert not Sample.objects.filter(span=SPAN).exists()
        assert Sample.objects.filter(span=Sample.Span.HOUR).count() == 1
