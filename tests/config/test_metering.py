"""Expensive calls: their seconds are counted, and limited for each account."""

from types import SimpleNamespace

import pytest

from config import limits, metering
from config.api.reading import TOO_DEAR
from config.db import prepared
from tests.client import errors
from tests.factories import DomainFactory

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """The monotonic clock, which stands still."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(metering, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_seconds_add_up_until_the_window_ends(clock):
    meter = metering.Meter(6, 60)
    for _ in range(1000):
        with meter.measured("quick"):
            clock.now += metering.ORDINARY / 2
    assert meter.wait("quick") == 0
    for _ in range(3):
        assert meter.wait("slow") == 0
        with meter.measured("slow"):
            clock.now += 2.5
    assert meter.wait("slow") == 60 - 5  # from the end of the first
    assert meter.wait("another") == 0
    clock.now += 55
    assert meter.wait("slow") == 0


def test_subjects_are_forgotten_when_there_are_many(clock, monkeypatch):
    monkeypatch.setattr(metering, "MOST_SUBJECTS", 2)
    meter = metering.Meter(6, 60)
    for subject in "abc":
        meter.charge(subject, 7)
        clock.now += 31
    assert sorted(meter.spent) == ["b", "c"]


@pytest.fixture
def spent(account):
    """The account's expensive calls have taken what they may."""
    limits.forget()
    meter = limits.limits().meter
    meter.charge(f"account:{account.pk}", meter.most)
    yield
    limits.forget()


@pytest.mark.django_db
def test_dear_calls_wait_and_others_do_not(api, account, spent):
    domain = DomainFactory(account=account)
    asked = [
        api.get(INSTANCES, {"label": "web"}),
        api.get(f"{INSTANCES}?label=web"),
        api.get("/v4/images", {"label": "mine"}),
        api.get(f"/v4/domains/{domain.pk}/zone-file"),
        api.post(f"/v4/domains/{domain.pk}/clone", {"domain": "copy.example"}),
        api.post("/v4/domains/import", {}),
        api.post("/v4/profile/security-questions", {}),
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
    assert (answer.status_code, errors(answer)) == (400, {"X-Filter": TOO_DEAR})
