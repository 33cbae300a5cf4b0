"""Graphs of an instance in a browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.utils.timezone import now

from compute.models import Instance, Sample
from compute.pages.graphs import charts_of, months_of
from compute.services.stats import stats
from config.limits import rates
from tests.compute.pages.visiting import HTMX, owner_of, page_of, text_of
from tests.factories import NodeBalancerFactory

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def instance(world) -> Instance:
    return world.offline(label="web-1")


def sample(instance: Instance, at: datetime, span: int = 300, **values: float) -> Sample:
    fields = {field.name: 0.0 for field in Sample._meta.fields if field.get_internal_type() == "FloatField"}
    return Sample.objects.create(instance=instance, at=at, span=span, **{**fields, **values})


def charts(instance: Instance, zone: str = "UTC"):
    return {chart.name: chart for chart in charts_of(stats.last_day(instance, NOON), NOON, zone)}


class TestCharts:
    def test_samples_stand_at_their_times_with_gaps_between_them(self, instance):
        for minutes, cpu in ((10, 50), (5, 100), (720, 20)):
            sample(instance, NOON - timedelta(minutes=minutes), cpu=cpu)
        chart = charts(instance)["graph-cpu"]
        assert chart.title == "Processor, %"
        (_, early), (_, late) = chart.lines
        assert early.startswith("50.17,80.00")
        assert late == "99.48,50.00 99.83,0.00"
        assert chart.description == "Usage: 56.7 % on average, at most 100.0 %."

    def test_both_kinds_of_addresses_count_and_the_unit_fits(self, instance):
        sample(instance, NOON - timedelta(minutes=5), v4_in=1_500_000, v6_in=500_000, v4_out=400)
        chart = charts(instance)["graph-network"]
        assert chart.title == "Public network, Mbit/s"
        assert "Received: 2.0 Mbit/s on average" in chart.description

    def test_a_private_network_without_traffic_is_left_out(self, instance):
        first = sample(instance, NOON - timedelta(minutes=5))
        assert set(charts(instance)) == {"graph-cpu", "graph-disk", "graph-network"}
        Sample.objects.filter(pk=first.pk).update(v6_private_out=2000)
        assert charts(instance)["graph-private"].title == "Private network, kbit/s"

    def test_times_are_those_of_the_reader(self, instance):
        sample(instance, NOON - timedelta(minutes=5))
        assert charts(instance, "Europe/Berlin")["graph-cpu"].time_ticks[0].label == "13:00"
        assert charts(instance, "nowhere")["graph-cpu"].time_ticks[0].label == "12:00"

    def test_a_month_ends_with_today(self, instance):
        sample(instance, NOON - timedelta(days=3), span=3600, cpu=10)
        found = list(charts_of(stats.in_month(instance, NOON.date().replace(day=1)), NOON, "UTC"))
        labels = [tick.label for tick in found[0].time_ticks]
        assert (labels[0], labels[-1]) == ("03-01 00:00", "03-10 12:00")


def test_months_go_back_to_when_the_instance_was_made(instance):
    instance.created = NOON - timedelta(days=40)
    assert [f"{month:%Y-%m}" for month in months_of(instance, NOON)] == ["2026-03", "2026-02", "2026-01"]
    instance.created = NOON - timedelta(days=4000)
    assert len(months_of(instance, NOON)) == 12


class TestThePage:
    def test_it_shows_the_last_day_or_a_month(self, world, instance):
        sample(instance, now() - timedelta(minutes=9), cpu=42)
        browser = owner_of(world)
        page = text_of(browser.get(page_of(instance, "graphs")))
        assert "at most 42.0 %" in page
        month = f"{now().astimezone(UTC):%Y-%m}"
        page = text_of(browser.get(page_of(instance, f"graphs?month={month}")))
        assert f'value="{month}" selected' in page

    def test_htmx_gets_the_graphs_alone(self, world, instance):
        sample(instance, now() - timedelta(minutes=9), cpu=42)
        answer = owner_of(world).get(page_of(instance, "graphs"), headers=HTMX)
        assert text_of(answer).lstrip().startswith('<div id="graphs">')

    @pytest.mark.parametrize("asked", ["", "?month=2020-01", "?month=x", "?month=%00"])
    def test_without_samples_it_says_so(self, world, instance, asked):
        page = text_of(owner_of(world).get(page_of(instance, f"graphs{asked}")))
        assert "Stats are unavailable at this time." in page

    def test_the_overview_leads_there_without_scripts(self, world, instance):
        assert f'<a href="{page_of(instance, "graphs")}">' in text_of(owner_of(world).get(page_of(instance)))


@pytest.fixture
def _fresh_limits() -> Iterator[None]:
    """Count from nothing, and forget the counts afterwards."""
    rates.forget()
    yield
    rates.forget()


@pytest.mark.usefixtures("_fresh_limits")
def test_graphs_share_the_limit_of_statistics_with_the_api(world, instance, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "stats": "2/60"}
    browser, balancer = owner_of(world), NodeBalancerFactory(account=world.account)
    others = f"/home/load-balancers/{balancer.pk}/graphs"
    assert [browser.get(page).status_code for page in (page_of(instance, "graphs"), others)] == [200, 200]
    for page in (page_of(instance, "graphs"), others):
        refused = browser.get(page)
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0
        assert "Too many attempts." in refused.content.decode()
        part = browser.get(page, headers=HTMX)
        assert part.status_code == 200, "htmx shows no part that it gets with an error"
        assert "Too many attempts." in part.content.decode()
