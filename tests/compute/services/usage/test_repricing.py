"""New prices for resources that exist: each begins a new interval once, and the counters stay."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ResourceUse
from compute.models import Address, InstanceType, ResourcePrice, UsageInterval
from compute.services.usage import repricing
from compute.services.usage.recording import record
from compute.services.usage.repricing import reprice
from tests.factories import AccountFactory, VolumeFactory

pytestmark = pytest.mark.django_db


def open_prices(kind: str) -> list[Decimal]:
    found = UsageInterval.objects.filter(kind=kind, ended=None).order_by("pk")
    return list(found.values_list("price_hourly", flat=True))


def volumes_of(account, number: int) -> list[int]:
    keys = [VolumeFactory(account=account, label=f"v{each}").pk for each in range(number)]
    record(account.pk, volumes=keys)
    return keys


def test_every_kind_gets_its_price_and_nothing_else_begins_anew(world, monkeypatch):
    monkeypatch.setattr(repricing, "BATCH", 2)
    instance = world.offline(backups_enabled=True)
    spare = Address.objects.filter(instance=None, public=True).first()
    Address.objects.filter(pk=spare.pk).update(instance=instance)
    record(world.account.pk, addresses=True)
    others = [AccountFactory() for _ in range(2)]
    for account in (world.account, *others):
        volumes_of(account, 3)
    assert reprice() == 0
    before = list(ResourceUse.objects.order_by("pk").values())
    began = UsageInterval.objects.count()
    ResourcePrice.objects.create(id="volume", hourly="0.00015", monthly="0.1")
    ResourcePrice.objects.create(id="extra_ipv4", hourly="0.003")
    ResourcePrice.objects.create(id="image", hourly="7")
    InstanceType.objects.update(backup_price_hourly=0.004)
    assert reprice() == 3 * 3 + 1 + 1
    assert open_prices("volume") == [Decimal("0.00015")] * 9
    assert open_prices("extra_ipv4") == [Decimal("0.003")]
    assert open_prices("compute_backups") == [Decimal("0.004")]
    assert open_prices("compute") == [Decimal("0.01")]
    assert UsageInterval.objects.count() == began + 11
    assert UsageInterval.objects.filter(ended=None).count() == began
    assert list(ResourceUse.objects.order_by("pk").values()) == before
    ResourcePrice.objects.filter(pk="volume").delete()
    assert reprice() == 9
    assert open_prices("volume") == [0] * 9


def test_it_ends_where_a_row_disagrees_with_its_interval(world):
    [one, other] = volumes_of(world.account, 2)
    UsageInterval.objects.filter(resource=one).update(resource=10**12)  # of no volume: it only ends
    ResourcePrice.objects.create(id="volume", hourly=1)
    assert reprice() == 2
    assert UsageInterval.objects.filter(kind="volume", ended=None).values_list("resource").get() == (other,)
    assert reprice() == 0


def test_a_price_of_a_type_with_more_digits_than_an_interval_has_settles(world):
    world.offline()
    InstanceType.objects.update(price_hourly=0.3333325)
    assert reprice() == 1
    assert open_prices("compute") == [Decimal("0.333333")]
    assert reprice() == 0


def test_it_stops_at_its_deadline_and_goes_on_another_time(world):
    for account in (world.account, AccountFactory(), AccountFactory()):
        volumes_of(account, 1)
    ResourcePrice.objects.create(id="volume", hourly=1)
    times = iter([0, 1, 5])
    assert reprice(4, clock=lambda: next(times)) == 1
    assert open_prices("volume").count(0) == 2
    assert reprice() == 2


def test_nothing_is_read_of_accounts_whose_prices_are_right(world):
    volumes_of(world.account, 5)
    with CaptureQueriesContext(connection) as captured:
        reprice()
    assert len(captured) == 3
