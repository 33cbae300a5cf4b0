"""The statistics of an instance, as its charts show them."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils.timezone import now

from compute.models import Sample
from compute.services.stats.sampling import COUNTERS
from config.limits import rates
from tests.factories import InstanceFactory
from tests.tours.pages import PAGES


@pytest.fixture
def instance(account):
    return InstanceFactory(account=account, label="web-1")


@pytest.fixture
def path(instance) -> str:
    return f"/v4/compute/instances/{instance.pk}/stats"


def taken(instance, at: datetime, span: int = 300, **rates: float) -> None:
    numbered = {name: float(number) for number, name in enumerate(COUNTERS)}
    Sample.objects.create(instance=instance, span=span, at=at, **{**numbered, **rates})


def test_before_there_are_samples_there_are_no_stats(api, path):
    for each in (path, f"{path}/2026/3"):
        answer = api.get(each)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"field": None, "reason": "Stats are unavailable at this time."}]


def test_the_last_day_is_charted_in_five_minutes(api, instance, path):
    at = now().replace(second=0, microsecond=0) - timedelta(minutes=10)
    taken(instance, at - timedelta(hours=25))
    taken(instance, at - timedelta(minutes=5), cpu=12.345678)
    taken(instance, at)
    answer = api.get(path)
    assert answer["Cache-Control"] == "private, max-age=180"
    body = answer.json()
    moment = int(at.timestamp() * 1000)
    assert body["title"] == f"web-1 ({instance.pk}), last 24 hours, 5 minute averages"
    assert body["data"]["cpu"] == [[moment - 300_000, 12.35], [moment, 0.0]]
    assert body["data"]["io"] == {
        "io": [[moment - 300_000, 1.0], [moment, 1.0]],
        "swap": [[moment - 300_000, 2.0], [moment, 2.0]],
    }
    assert {name: series[-1][1] for name, series in body["data"]["netv4"].items()} == {
        "in": 3.0, "out": 4.0, "private_in": 5.0, "private_out": 6.0,
    }  # fmt: skip
    assert {name: series[-1][1] for name, series in body["data"]["netv6"].items()} == {
        "in": 7.0, "out": 8.0, "private_in": 9.0, "private_out": 10.0,
    }  # fmt: skip


def test_the_page_shows_an_answer_as_it_is(api, instance, path):
    def shape(value: object) -> object:
        return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else type(value)

    taken(instance, now() - timedelta(minutes=10))
    [shown] = re.findall(r"^```json\n(.*?)^```", PAGES["docs/stats.md"].read_text(), re.MULTILINE | re.DOTALL)
    assert shape(json.loads(shown)) == shape(api.get(path).json())


def test_a_month_is_charted_in_hours_or_else_in_days(api, instance, path):
    for day in (1, 31):
        taken(instance, datetime(2026, 3, day, 23, tzinfo=UTC), Sample.Span.HOUR)
    taken(instance, datetime(2026, 4, 1, tzinfo=UTC), Sample.Span.HOUR)
    taken(instance, datetime(2026, 2, 3, tzinfo=UTC), Sample.Span.DAY)
    march, february = api.get(f"{path}/2026/3").json(), api.get(f"{path}/2026/2").json()
    named = f"web-1 ({instance.pk})"
    assert (len(march["data"]["cpu"]), march["title"]) == (2, f"{named}, 2026-03, hourly averages")
    assert (len(february["data"]["cpu"]), february["title"]) == (1, f"{named}, 2026-02, day 3, daily averages")
    assert api.get(f"{path}/2026/1").status_code == 400


def test_a_month_whose_first_hours_are_gone_is_charted_in_days(api, instance, path):
    for day in (1, 2, 3):
        taken(instance, datetime(2026, 3, day, tzinfo=UTC), Sample.Span.DAY)
    taken(instance, datetime(2026, 3, 3, 23, tzinfo=UTC), Sample.Span.HOUR)
    march = api.get(f"{path}/2026/3").json()
    assert len(march["data"]["cpu"]) == 3
    assert march["title"] == f"web-1 ({instance.pk}), 2026-03, days 1 to 3, daily averages"


def test_the_first_hour_of_a_month_shows_five_minute_averages(api, instance, path):
    taken(instance, datetime(2026, 3, 1, 0, 5, tzinfo=UTC))
    march = api.get(f"{path}/2026/3").json()
    assert march["title"] == f"web-1 ({instance.pk}), 2026-03, day 1, 5 minute averages"


@pytest.mark.parametrize(
    ("when", "fields"),
    [
        ("1999/1", ["year"]),
        ("2038/1", ["year"]),
        ("2026/13", ["month"]),
        ("2026/0", ["month"]),
        ("9" * 30 + "/99", ["year", "month"]),
    ],
)
def test_a_month_that_is_none_is_refused_by_name(api, path, when, fields):
    for each in (path, path.replace("stats", "transfer")):
        answer = api.get(f"{each}/{when}")
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == fields


def test_a_hundred_may_be_asked_for_in_a_minute(api, path, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "stats": "2/60"}
    rates.forget()
    assert [api.get(each).status_code for each in (path, f"{path}/2026/3", path)] == [400, 400, 429]
    rates.forget()


def test_stats_of_other_users_do_not_exist(client_for, stranger, restricted, path):
    assert client_for(stranger).get(path).status_code == 404
    assert client_for(restricted).get(path).status_code == 404
