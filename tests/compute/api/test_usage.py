"""Usage and quotas of an account: `GET /account/usage`, `GET /account/quotas`."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.models import ResourceUse, TrustLevel
from compute.models import Transfer, UsageInterval
from compute.services.usage import clock
from tests.client import errors
from tests.factories import AccountFactory

USAGE, QUOTAS = "/v4/account/usage", "/v4/account/quotas"
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
NOW = NOVEMBER + timedelta(days=20)
TIME_REASON = "is not valid: a date or a time, such as 2026-11-01 or 2026-11-01T12:00:00"
UNTIL_BY_DEFAULT = "until, which is 2026-12-01 by default, must be after from"
TOO_LATE = "until is too late: a report covers at most 13 calendar months"


@pytest.fixture(autouse=True)
def _now(monkeypatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def used(account, kind="volume", resource=1, hours=10, started=NOVEMBER, **fields) -> None:
    UsageInterval.objects.create(
        account=account, kind=kind, resource=resource, started=started, ended=started + timedelta(hours=hours),
        **{"quantity": 1, "price_hourly": Decimal("0.001"), **fields},
    )  # fmt: skip


@pytest.fixture
def metered(account):
    used(account, "compute", 7, label="web", region="us-test", type="g6-test-2", price_hourly=Decimal("0.0075"))
    used(account, "volume", 8, label="data", region="us-test", quantity=20, price_monthly=Decimal("0.1"))
    used(account, "extra_ipv4", account.pk, quantity=2)
    used(account, "image", 9, hours=1, started=datetime(2026, 10, 31, 23, 30, tzinfo=UTC), label="Old")
    used(AccountFactory(), "volume", 99)
    return account


def test_the_present_month_by_kind_is_the_default(api, metered):
    assert api.get(USAGE).json() == {
        "from": "2026-11-01T00:00:00",
        "until": "2026-12-01T00:00:00",
        "group_by": "kind",
        "total": 0.2955,
        "data": [
            group(kind, hours=hours, quantity_hours=quantity_hours, amount=amount)
            for kind, hours, quantity_hours, amount in (
                ("compute", 10, 10, 0.075), ("extra_ipv4", 10, 20, 0.02), ("image", 0.5, 0.5, 0.0005),
                ("volume", 10, 200, 0.2),
            )
        ],
        "page": 1,
        "pages": 1,
        "results": 4,
    }  # fmt: skip


def group(kind: str, **fields) -> dict:
    return {"kind": kind, "id": None, "label": None, "region": None, "type": None, **fields}


def test_by_resource_the_most_expensive_is_first(api, metered):
    found = api.get(f"{USAGE}?group_by=resource&from=2026-10-01").json()
    assert [(each["kind"], each["id"], each["label"], each["amount"]) for each in found["data"]] == [
        ("volume", 8, "data", 0.2), ("compute", 7, "web", 0.075), ("extra_ipv4", None, "", 0.02),
        ("image", 9, "Old", 0.001),
    ]  # fmt: skip
    assert [(each["region"], each["type"]) for each in found["data"]] == [
        ("us-test", None), ("us-test", "g6-test-2"), (None, None), (None, None),
    ]  # fmt: skip
    assert (found["total"], found["results"]) == (0.296, 4)


def test_the_total_alone(api, metered):
    found = api.get(f"{USAGE}?group_by=total&from=2026-11-01T05:00:00&until=2026-11-01T05:30:00").json()
    assert (found["from"], found["until"]) == ("2026-11-01T05:00:00", "2026-11-01T05:30:00")
    assert (found["total"], found["data"], found["results"], found["pages"]) == (0.0148, [], 0, 1)


def test_times_with_an_offset_are_in_utc(api, metered):
    found = api.get(f"{USAGE}?from=2026-11-01T02:00:00%2B02:00&until=2026-11-01T00:30:00Z").json()
    assert (found["from"], found["until"]) == ("2026-11-01T00:00:00", "2026-11-01T00:30:00")


def test_resources_come_in_pages_and_cost_the_same_queries(api, account, django_assert_num_queries):
    for resource in range(1, 61):
        used(account, resource=resource, hours=resource)
    pages = []
    for number in (1, 2, 3, 4):
        with django_assert_num_queries(3):
            pages.append(api.get(f"{USAGE}?group_by=resource&page={number}&page_size=25").json())
    assert [[each["id"] for each in page["data"]] for page in pages] == [
        [*range(60, 35, -1)], [*range(35, 10, -1)], [*range(10, 0, -1)], [],
    ]  # fmt: skip
    assert {(page["pages"], page["results"], page["total"]) for page in pages} == {(3, 60, 1.83)}


def test_transfer_beyond_the_pool_is_a_kind(api, account):
    used(account, "compute", 7)
    Transfer.objects.create(account=account, month=NOVEMBER.date(), sent=3 * 10**9)
    assert api.get(USAGE).json()["data"][1] == group("transfer", hours=0, quantity_hours=3, amount=0)
    of_resource = api.get(f"{USAGE}?group_by=resource").json()["data"][1]
    assert (of_resource["kind"], of_resource["id"]) == ("transfer", None)


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("from=yesterday", {"from": f"from {TIME_REASON}"}),
        ("from=&until=2026-13-01", {"from": f"from {TIME_REASON}", "until": f"until {TIME_REASON}"}),
        ("from=0001-01-01T00:00:00%2B10:00", {"from": f"from {TIME_REASON}"}),
        ("from=1999-12-31", {"from": "the year of from must be 2000-2037"}),
        ("until=2038-01-01", {"until": "the year of until must be 2000-2037"}),
        ("from=2026-11-02&until=2026-11-02", {"until": "until must be after from"}),
        ("from=2026-12-01", {"until": UNTIL_BY_DEFAULT}),
        ("until=2026-11-01", {"until": "until must be after from, which is 2026-11-01 by default"}),
        ("until=2020", {"until": f"until {TIME_REASON}"}),
        ("from=2025-10-31", {"until": TOO_LATE}),
        ("from=2025-11-01&until=2026-12-01T00:00:01", {"until": TOO_LATE}),
        ("group_by=day", {"group_by": "group_by is not valid: one of total, kind, resource"}),
        ("group_by=&from=2027-01-01", {
            "group_by": "group_by is not valid: one of total, kind, resource", "until": UNTIL_BY_DEFAULT,
        }),
        ("page=0", {"page": "page must be at least 1"}),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(api, query, reasons):
    assert errors(api.get(f"{USAGE}?{query}")) == reasons


def test_thirteen_months_are_accepted(api, account):
    used(account, started=datetime(2025, 11, 5, tzinfo=UTC))
    assert api.get(f"{USAGE}?from=2025-11-01&until=2026-12-01").json()["total"] == 0.01


def test_quotas_show_limits_and_use(api, account):
    account.trust_level, account.extra_ipv4, account.quotas = "small", 4, {"vcpus": 12, "memory": None}
    account.save()
    TrustLevel.objects.create(id="small", label="Small", limits={"instances": 3, "vcpus": 4, "memory": 8192})
    ResourceUse.objects.create(account=account, instances=2, memory=4096, extra_ipv4=1)
    found = api.get(QUOTAS).json()["quotas"]
    assert [each["quota"] for each in found] == [
        "computes", "vcpus", "memory", "gpus", "disk", "volumes", "volume_storage", "backup_storage",
        "image_storage", "total_ipv6_ranges", "total_nodebalancers", "extra_ipv4",
    ]  # fmt: skip
    assert [(each["unit"], each["limit"], each["used"]) for each in found[:4]] == [
        (None, 3, 2), (None, 12, 0), ("MB", None, 4096), (None, None, 0),
    ]  # fmt: skip
    assert found[-1] == {"quota": "extra_ipv4", "unit": None, "limit": 4, "used": 1}


def test_an_account_without_use_has_used_nothing(api, account, django_assert_num_queries):
    with django_assert_num_queries(2):
        found = api.get(QUOTAS).json()["quotas"]
    assert {(each["limit"], each["used"]) for each in found} == {(None, 0), (0, 0)}


@pytest.mark.parametrize("path", [USAGE, QUOTAS])
def test_reading_usage_needs_scope_and_account_access(path, account, client_for, restricted, owner, anonymous):
    assert anonymous.get(path).status_code == 401
    assert client_for(owner, "volumes:read_only").get(path).status_code == 401
    assert client_for(owner, "account:read_only").get(path).status_code == 200
    assert client_for(restricted).get(path).status_code == 200
    restricted.global_grants.account_access = None
    restricted.global_grants.save()
    assert client_for(restricted).get(path).status_code == 403
