"""Expensive calls: their seconds of work are counted, and limited for each account."""

import threading
from types import SimpleNamespace

import pytest
from django.db import connection

from config.api.reading import TOO_EXPENSIVE
from config.db import prepared
from config.limits import metering, rates
from tests.client import errors
from tests.factories import DomainFactory, UserFactory

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """The monotonic clock and the thread's processor time, which stand still."""
    clock = SimpleNamespace(now=1000.0, worked=0.0)
    fake = SimpleNamespace(monotonic=lambda: clock.now, thread_time=lambda: clock.worked)
    monkeypatch.setattr(metering, "time", fake)
    return clock


def test_seconds_add_up_until_the_window_ends(clock):
    meter = metering.Meter(6, 60)
    for _ in range(1000):
        with meter.measured("quick"):
            clock.worked += metering.FREE_SECONDS / 2
    assert meter.wait("quick") == 0
    for _ in range(3):
        assert meter.wait("slow") == 0
        with meter.measured("slow"):
            clock.worked += 2.5
            clock.now += 2.5
    assert meter.wait("slow") == 60 - 5  # counted from the end of the first call
    assert meter.wait("another") == 0
    clock.now += 55
    assert meter.wait("slow") == 0


def test_time_without_work_is_not_charged(clock):
    meter = metering.Meter(6, 60)
    with meter.measured("waiting"):
        clock.now += 50
    assert not meter.spent


def test_threads_lose_no_charge():
    meter = metering.Meter(6, 3600)
    threads = [
        threading.Thread(target=lambda: [meter.charge("account:1", 1) for _ in range(5000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.spent["account:1"][0] == 20_000


SLEEPING = "SELECT pg_sleep(0.3)"


def through_cursor(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "run",
    [
        lambda: through_cursor(SLEEPING),
        lambda: prepared.fetch_ordinarily(SLEEPING, (), within=60),  # in a pipeline
        lambda: prepared.fetch(SLEEPING, ()),
    ],
    ids=["cursor", "filter", "prepared"],
)
def test_the_time_of_statements_is_charged(run):
    meter = metering.Meter(6, 60)
    with meter.measured("account:1"):
        run()
    assert meter.spent["account:1"][0] > 0.28 - metering.FREE_SECONDS
    run()
    assert len(meter.spent) == 1
    assert not connection.execute_wrappers


@pytest.mark.django_db
@pytest.mark.parametrize(("rows", "most"), [(1, 0.1), (1000, 60)])
def test_a_statement_that_locks_is_charged_by_its_rows(rows, most):
    """The sleep represents a wait for another transaction's lock."""
    through_cursor("CREATE TEMPORARY TABLE locked (id int)")
    through_cursor(f"INSERT INTO locked SELECT generate_series(1, {rows})")
    meter = metering.Meter(6, 60)
    with meter.measured("account:1"):
        through_cursor("WITH slept AS MATERIALIZED (SELECT pg_sleep(0.3)) UPDATE locked SET id = 1 FROM slept")
    spent = meter.spent.get("account:1", (0.0, 0.0))[0]
    assert (0 if rows == 1 else 0.28 - metering.FREE_SECONDS) <= spent < most


def test_subjects_are_forgotten_when_there_are_many(clock, monkeypatch):
    monkeypatch.setattr(metering, "MAX_SUBJECTS", 2)
    meter = metering.Meter(6, 60)
    for subject in "abc":
        meter.charge(subject, 7)
        clock.now += 31
    assert sorted(meter.spent) == ["b", "c"]


@pytest.fixture
def spent(account):
    """Use up the account's limit of expensive calls."""
    rates.forget()
    meter = rates.limits().meter
    meter.charge(f"account:{account.pk}", meter.most)
    yield
    rates.forget()


@pytest.mark.django_db
def test_dear_calls_wait_and_others_do_not(api, account, spent):
    domain, restricted = DomainFactory(account=account), UserFactory(account=account, restricted=True)
    asked = [
        api.get(INSTANCES, {"label": "web"}),
        api.get(f"{INSTANCES}?label=web"),
        api.get("/v4/images", {"label": "mine"}),
        api.get(f"/v4/domains/{domain.pk}/zone-file"),
        api.post(f"/v4/domains/{domain.pk}/clone", {"domain": "copy.example"}),
        api.post("/v4/domains/import", {}),
        api.post("/v4/profile/security-questions", {}),
        api.get("/v4/profile/grants"),
        api.get(f"/v4/account/users/{restricted.username}/grants"),
        api.put(f"/v4/account/users/{restricted.username}/grants", {}),
        api.delete(f"/v4/domains/{domain.pk}"),
        api.get("/v4/account/transfer"),
        api.post("/v4/tags", {}),
        api.get("/v4/tags/mine"),
    ]
    assert [answer.status_code for answer in asked] == [429] * len(asked)
    assert all(0 < int(answer["Retry-After"]) <= 60 for answer in asked)
    others = [INSTANCES, "/v4/images", f"/v4/domains/{domain.pk}"]
    assert [api.get(path).status_code for path in others] == [200, 200, 200]


@pytest.mark.django_db
def test_a_filter_that_the_database_ends_is_refused(api, monkeypatch):
    ordinarily = prepared.fetch_ordinarily

    def ended(sql, parameters, within=None):
        if within is None:
            return ordinarily(sql, parameters)
        assert within == 2
        raise prepared.TookTooLong

    monkeypatch.setattr(prepared, "fetch_ordinarily", ended)
    answer = api.get(INSTANCES, {"label": {"+contains": "web"}})
    assert (answer.status_code, errors(answer)) == (400, {"X-Filter": TOO_EXPENSIVE})
