"""Reports of usage: lines, their amounts, and transfer beyond the pool."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from compute.models import ResourcePrice, Transfer, UsageInterval
from compute.services.stats import transfer
from compute.services.usage import clock
from compute.services.usage.reports import GROUPINGS, RESOURCE, TOTAL, Line, lines, summary
from tests.factories import AccountFactory, InstanceFactory, InstanceTypeFactory

pytestmark = pytest.mark.django_db

OCTOBER, NOVEMBER, DECEMBER, JANUARY = (
    datetime(2026 + month // 13, (month - 1) % 12 + 1, 1, tzinfo=UTC) for month in (10, 11, 12, 13)
)
GB = 10**9


@pytest.fixture
def now(monkeypatch):
    """Return a function that sets the clock of usage."""

    def move(moment: datetime) -> datetime:
        monkeypatch.setattr(clock, "now", lambda: moment)
        return moment

    move(JANUARY)
    return move


@pytest.fixture
def account(now):
    return AccountFactory()


def used(account, started, ended=None, kind="volume", resource=1, quantity=1, hourly="0.001", **fields):
    return UsageInterval.objects.create(
        account=account, kind=kind, resource=resource, quantity=Decimal(quantity), price_hourly=Decimal(hourly),
        started=started, ended=ended, **fields,
    )  # fmt: skip


def amounts(found: list[Line]) -> list[str]:
    return [str(each.amount) for each in found]


def hours(found: list[Line]) -> list[Decimal]:
    return [each.hours.normalize() for each in found]


def test_a_line_has_all_that_a_bill_needs(account):
    used(
        account, NOVEMBER, NOVEMBER + timedelta(hours=10), "compute", 7, label="web", region="us-test", type="g6",
        hourly="0.0075", price_monthly=Decimal(5),
    )  # fmt: skip
    assert lines(account.pk, NOVEMBER, DECEMBER) == [
        Line(
            date(2026, 11, 1), "compute", 7, "web", "us-test", "g6", Decimal(10), Decimal(10), Decimal("0.0075"),
            Decimal(5), Decimal("0.0750"),
        )
    ]  # fmt: skip


def test_intervals_are_cut_at_months_and_at_both_times_and_open_ones_at_now(account, now):
    used(account, OCTOBER - timedelta(days=9))
    used(account, OCTOBER - timedelta(days=9), OCTOBER + timedelta(hours=5), resource=2)
    now(NOVEMBER + timedelta(hours=30))
    found = lines(account.pk, OCTOBER + timedelta(hours=1), DECEMBER)
    assert [(each.month.month, each.resource) for each in found] == [(10, 1), (10, 2), (11, 1)]
    assert hours(found) == [31 * 24 - 1, 4, 30]
    assert hours(lines(account.pk, NOVEMBER, NOVEMBER + timedelta(minutes=90))) == [Decimal("1.5")]
    assert lines(account.pk, DECEMBER, JANUARY) == [], "the future has no usage"
    assert lines(account.pk, NOVEMBER, NOVEMBER) == []


def test_neighbouring_ranges_share_no_hour_and_lose_none(account):
    used(account, NOVEMBER - timedelta(hours=3, minutes=7), NOVEMBER + timedelta(days=40, seconds=11))
    days = [OCTOBER + timedelta(days=n) for n in range(93)]
    daily = [line for since, until in pairwise(days) for line in lines(account.pk, since, until)]
    assert sum(hours(daily)) == sum(hours(lines(account.pk, OCTOBER, JANUARY)))
    assert len(daily) == 42


def test_changes_at_the_same_price_share_a_line_and_other_prices_begin_another(account):
    at = NOVEMBER
    for n, (quantity, hourly) in enumerate(((10, "0.001"), (30, "0.001"), (30, "0.002"), (30, "0.001"))):
        used(account, at, at + timedelta(hours=n + 1), quantity=quantity, hourly=hourly, label=f"disk{n}")
        at += timedelta(hours=n + 1)
    found = lines(account.pk, NOVEMBER, DECEMBER)
    assert [(each.price_hourly, each.hours, each.quantity_hours, each.label) for each in found] == [
        (Decimal("0.002"), 3, 90, "disk2"), (Decimal("0.001"), 7, 190, "disk3"),
    ]  # fmt: skip
    assert amounts(found) == ["0.1800", "0.1900"]


def test_a_month_costs_at_most_the_monthly_price_of_the_average_quantity(account):
    cap = {"hourly": "0.01", "price_monthly": Decimal(5)}
    used(account, NOVEMBER, DECEMBER, resource=1, **cap)
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=500), resource=2, **cap)
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=501), resource=3, **cap)
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=360), resource=4, quantity=2, **cap)
    used(account, NOVEMBER + timedelta(hours=360), DECEMBER, resource=4, quantity=8, **cap)
    used(account, NOVEMBER, DECEMBER, resource=5, hourly="0", price_monthly=Decimal(5))
    used(account, NOVEMBER, DECEMBER, resource=6, hourly="0.01", price_monthly=None)
    used(account, NOVEMBER, DECEMBER, resource=7, hourly="0.01", price_monthly=Decimal(0))
    expected = ["5.0000", "5.0000", "5.0000", "25.0000", "0.0000", "7.2000", "0.0000"]
    assert amounts(lines(account.pk, NOVEMBER, DECEMBER)) == expected
    assert amounts(lines(account.pk, OCTOBER, JANUARY)) == expected


def test_amounts_are_rounded_half_up_and_follow_from_the_columns_of_their_line(account):
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=1), resource=1, hourly="0.000050")
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=1), resource=2, hourly="0.000049")
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=1), resource=3, hourly="0.000150")
    used(account, NOVEMBER, NOVEMBER + timedelta(seconds=1), resource=4, hourly="3600")
    used(account, NOVEMBER, NOVEMBER, resource=5)
    used(account, NOVEMBER, NOVEMBER + timedelta(microseconds=1), resource=6, price_monthly=Decimal(1))
    found = lines(account.pk, NOVEMBER, DECEMBER)
    assert amounts(found) == ["0.0001", "0.0000", "0.0002", "1.0008"]
    assert found[-1].quantity_hours * 3600 == Decimal("1.0008")


def test_totals_are_sums_of_rounded_lines(account):
    for resource in range(1, 4):
        used(account, NOVEMBER, NOVEMBER + timedelta(hours=1), resource=resource, hourly="0.000050")
    used(account, NOVEMBER, NOVEMBER + timedelta(hours=2), "image", 1, hourly="0.001", label="old")
    used(account, DECEMBER, DECEMBER + timedelta(hours=2), "image", 1, hourly="0.002", label="new", region="eu")
    used(AccountFactory(), NOVEMBER, resource=99)
    span = (account.pk, NOVEMBER, JANUARY)
    by_kind = summary(*span)
    assert [(each.kind, each.hours, str(each.amount)) for each in by_kind.groups] == [
        ("image", 4, "0.0060"), ("volume", 3, "0.0003"),
    ]  # fmt: skip
    assert {summary(*span, group_by).total for group_by in GROUPINGS} == {Decimal("0.0063")}
    assert sum(each.amount for each in lines(*span)) == Decimal("0.0063")
    by_resource = summary(*span, RESOURCE)
    first = by_resource.groups[0]
    assert (first.kind, first.resource, first.label, first.region, first.hours) == ("image", 1, "new", "eu", 4)
    assert [each.resource for each in by_resource.groups] == [1, 1, 2, 3], "the most expensive first"
    assert summary(*span, TOTAL).groups == []


def test_resources_are_cut_but_their_total_is_not(account):
    for resource in range(1, 6):
        used(account, NOVEMBER, NOVEMBER + timedelta(hours=resource), resource=resource)
    page = summary(account.pk, NOVEMBER, DECEMBER, RESOURCE, offset=1, limit=2)
    assert ([each.resource for each in page.groups], page.count, page.total) == ([4, 3], 5, Decimal("0.0150"))
    beyond = summary(account.pk, NOVEMBER, DECEMBER, RESOURCE, offset=9, limit=2)
    assert (beyond.groups, beyond.count, beyond.total) == ([], 5, Decimal("0.0150"))
    nothing = summary(account.pk, OCTOBER, NOVEMBER, RESOURCE)
    assert (nothing.groups, nothing.count, nothing.total) == ([], 0, 0)


@pytest.fixture
def priced(account):
    """Return the account. Transfer has a price. A GB beyond the pool costs 0.01 USD."""
    ResourcePrice.objects.create(pk="transfer", each=Decimal("0.01"))
    InstanceTypeFactory(id="g6-small", transfer=1000)
    InstanceTypeFactory(id="g6-large", transfer=4000)
    used(account, OCTOBER - timedelta(days=40), OCTOBER - timedelta(days=39), "compute", 1, type="g6-small")
    return account


def sent(account, month: datetime, gigabytes: int, **fields) -> None:
    Transfer.objects.create(account=account, month=month.date(), sent=gigabytes * GB, **fields)


def transferred(account, since, until) -> list[tuple[int, int, str]]:
    found = [each for each in lines(account.pk, since, until) if each.kind == "transfer"]
    assert all(each.resource == account.pk and not each.hours for each in found)
    return [(each.month.month, int(each.quantity_hours), str(each.amount)) for each in found]


def test_transfer_of_a_past_month_is_compared_with_the_pool_of_that_month(priced):
    used(priced, OCTOBER, OCTOBER + timedelta(days=31), "compute", 2, type="g6-small", hourly="0")
    used(priced, NOVEMBER + timedelta(days=15), DECEMBER, "compute", 3, type="g6-small", hourly="0")
    used(priced, DECEMBER, DECEMBER + timedelta(days=1), "compute", 3, type="g6-small", hourly="0")
    used(priced, DECEMBER + timedelta(days=1), None, "compute", 3, type="g6-large", hourly="0")
    sent(priced, OCTOBER, 1250)
    sent(priced, OCTOBER, 50)
    sent(priced, NOVEMBER, 501)
    sent(priced, DECEMBER, 4001)
    sent(AccountFactory(), DECEMBER, 9000)
    assert transferred(priced, OCTOBER, JANUARY) == [(10, 300, "3.0000"), (11, 1, "0.0100"), (12, 1, "0.0100")]
    assert transferred(priced, OCTOBER + timedelta(hours=1), JANUARY) == [(11, 1, "0.0100"), (12, 1, "0.0100")]
    assert transferred(priced, OCTOBER, JANUARY - timedelta(hours=1)) == [(10, 300, "3.0000"), (11, 1, "0.0100")]
    whole = summary(priced.pk, OCTOBER, JANUARY)
    assert [(each.kind, str(each.amount)) for each in whole.groups] == [
        ("compute", "0.0000"),
        ("transfer", "3.0200"),
    ]
    assert str(summary(priced.pk, OCTOBER, JANUARY, TOTAL).total) == "3.0200"
    assert summary(priced.pk, OCTOBER, JANUARY, RESOURCE).groups[0].kind == "transfer"


def test_transfer_of_the_present_month_is_that_of_the_account(priced, now):
    instance = InstanceFactory(account=priced, type_id="g6-small")
    instance.created = DECEMBER + timedelta(days=20)
    instance.save(update_fields=["created"])
    at = now(DECEMBER + timedelta(days=25))
    sent(priced, DECEMBER, 700, instance=instance)
    sent(priced, DECEMBER, 100, quota=200)
    billable = transfer.of_account(priced, at).billable
    assert billable == 800 - (355 + 200)
    assert transferred(priced, DECEMBER, JANUARY) == [(12, billable, "2.4500")]
    assert transferred(priced, DECEMBER, at) == [(12, billable, "2.4500")]
    assert transferred(priced, DECEMBER, at - timedelta(seconds=1)) == []
    assert transferred(priced, NOVEMBER, JANUARY) == [(12, billable, "2.4500")]


def test_transfer_from_before_metering_is_not_billed(account):
    """An account that existed before the upgrade: its instances are older than their intervals."""
    ResourcePrice.objects.create(pk="transfer", each=Decimal("0.01"))
    InstanceTypeFactory(id="g6-small", transfer=1000)
    instance = InstanceFactory(account=account, type_id="g6-small")
    instance.created = OCTOBER
    instance.save(update_fields=["created"])
    used(account, NOVEMBER + timedelta(days=20), None, "compute", instance.pk, type="g6-small", hourly="0")
    sent(account, OCTOBER, 5000)
    sent(account, NOVEMBER, 1300, quota=100)
    assert transferred(account, OCTOBER, JANUARY) == [(11, 200, "2.0000")]


def test_a_report_takes_a_fixed_number_of_statements(priced, django_assert_max_num_queries):
    for n in range(30):
        used(priced, OCTOBER + timedelta(days=n), None, "compute", 10 + n, type="g6-small")
    for month in (OCTOBER, NOVEMBER, DECEMBER):
        sent(priced, month, 90_000)
    with django_assert_max_num_queries(4):
        assert len(lines(priced.pk, OCTOBER, JANUARY)) == 93
    with django_assert_max_num_queries(4):
        assert len(summary(priced.pk, OCTOBER, JANUARY, RESOURCE).groups) == 31
