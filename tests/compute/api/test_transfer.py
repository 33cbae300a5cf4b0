"""Network transfer of an instance and of an account."""

from datetime import UTC, date, datetime

import pytest

from compute.models import Instance, Transfer
from compute.services.common.months import month_of, next_month, share_of
from compute.services.removal import remove
from compute.services.stats import transfer
from tests.factories import InstanceFactory, InstanceTypeFactory

GB = 10**9
TODAY = datetime(2026, 6, 16, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _today(monkeypatch) -> None:
    """Stop the date, so that no month ends between a count and a request."""
    for module in ("compute.api.stats", "compute.services.removal"):
        monkeypatch.setattr(f"{module}.now", lambda: TODAY)


@pytest.fixture
def plan(db):
    return InstanceTypeFactory(id="g6-transfer", transfer=1000)


def made(account, plan, created: datetime) -> Instance:
    instance = InstanceFactory(account=account, type=plan)
    Instance.objects.filter(pk=instance.pk).update(created=created)
    instance.refresh_from_db()
    return instance


@pytest.fixture
def old(account, plan):
    """An instance that existed before this month."""
    return made(account, plan, datetime(2020, 1, 1, tzinfo=UTC))


def counted(instance, sent: int, received: int = 0, month: date | None = None) -> None:
    month = month or month_of(TODAY)
    Transfer.objects.create(account=instance.account, instance=instance, month=month, sent=sent, received=received)


def test_nothing_is_used_before_anything_is_counted(api, old):
    assert api.get(f"/v4/compute/instances/{old.pk}/transfer").json() == {"used": 0, "quota": 1000, "billable": 0}
    assert api.get("/v4/account/transfer").json() == {"used": 0, "quota": 1000, "billable": 0}
    assert api.get(f"/v4/compute/instances/{old.pk}/transfer/2026/3").json() == {
        "bytes_in": 0, "bytes_out": 0, "bytes_total": 0,
    }  # fmt: skip


def test_sent_bytes_count_and_received_bytes_are_free(api, old):
    counted(old, sent=1001 * GB + 5, received=9000 * GB)
    assert api.get(f"/v4/compute/instances/{old.pk}/transfer").json() == {
        "used": 1001 * GB + 5, "quota": 1000, "billable": 1,
    }  # fmt: skip
    assert api.get(f"/v4/compute/instances/{old.pk}/transfer/2026/6").json() == {
        "bytes_in": 9000 * GB, "bytes_out": 1001 * GB + 5, "bytes_total": 10001 * GB + 5,
    }  # fmt: skip


def test_the_account_shares_one_pool(api, account, old, plan):
    other = made(account, plan, datetime(2020, 1, 1, tzinfo=UTC))
    counted(old, sent=1900 * GB)
    counted(other, sent=200 * GB)
    counted(InstanceFactory(), sent=10**15)
    counted(old, sent=10**15, month=date(2020, 2, 1))
    assert api.get("/v4/account/transfer").json() == {"used": 2100, "quota": 2000, "billable": 100}


def test_a_new_instance_adds_a_part_of_its_transfer(account, plan):
    middle = made(account, plan, datetime(2026, 4, 16, tzinfo=UTC))
    assert transfer.of_instance(middle, datetime(2026, 4, 20, tzinfo=UTC)).quota == 500
    assert transfer.of_instance(middle, datetime(2026, 5, 20, tzinfo=UTC)).quota == 1000


def test_a_deleted_instance_keeps_its_traffic_and_its_part(account, old):
    counted(old, sent=3 * GB)
    account_quota = transfer.of_account(account, TODAY)
    assert (account_quota.used, account_quota.quota) == (3, 1000)
    remove(old)
    assert not Instance.objects.exists()
    left = transfer.of_account(account, TODAY)
    assert (left.used, left.quota) == (3, 517), "15.5 of 30 days"


def test_months_follow_each_other():
    assert next_month(date(2026, 12, 1)) == date(2027, 1, 1)
    assert next_month(date(2026, 1, 1)) == date(2026, 2, 1)
    assert month_of(datetime(2026, 5, 31, 23, 59, tzinfo=UTC)) == date(2026, 5, 1)


@pytest.mark.parametrize(
    ("begins", "ends", "share"),
    [
        (datetime(2026, 4, 1, tzinfo=UTC), None, 1.0),
        (datetime(2026, 4, 16, tzinfo=UTC), None, 0.5),
        (datetime(2026, 4, 16, tzinfo=UTC), datetime(2026, 4, 19, tzinfo=UTC), 0.1),
        (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 4, 4, tzinfo=UTC), 0.1),
        (datetime(2026, 6, 1, tzinfo=UTC), None, 0.0),
    ],
)
def test_shares_of_a_month(begins, ends, share):
    assert share_of(date(2026, 4, 1), begins, ends) == pytest.approx(share)


def test_transfer_of_other_users_does_not_exist(client_for, stranger, restricted, old):
    path = f"/v4/compute/instances/{old.pk}/transfer"
    assert client_for(stranger).get(path).status_code == 404
    assert client_for(restricted).get(path).status_code == 404
    assert client_for(restricted).get("/v4/account/transfer").status_code == 200


def test_it_asks_few_questions(api, old, django_assert_num_queries):
    counted(old, sent=GB)
    path = "/v4/account/transfer"
    api.get(path)
    with django_assert_num_queries(4):
        api.get(path)
