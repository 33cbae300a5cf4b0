"""Statistics of an instance: the samples of a day or of a month, in the form of charts."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from compute.models import Instance, Sample
from compute.services.common.months import next_month, start_of
from compute.services.stats.sampling import COUNTERS
from config.errors import Invalid

NONE_YET = "Stats are unavailable at this time."
TITLES = {
    Sample.Span.FIVE_MINUTES: "5 minute averages",
    Sample.Span.HOUR: "hourly averages",
    Sample.Span.DAY: "daily averages",
}


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples between two times, in their order: each row is the time of a sample and its values of `COUNTERS`.

    `when` describes the time in words. Each sample is an average over `span` seconds.
    """

    when: str
    since: datetime
    until: datetime
    span: int
    rows: list[tuple]


def of_last_day(instance: Instance, at: datetime) -> dict[str, Any]:
    """Return the samples of the 24 hours before `at` as charts. Raises `Invalid` if there are none. One query."""
    return _charts(instance, last_day(instance, at))


def of_month(instance: Instance, month: date) -> dict[str, Any]:
    """Return the samples of a month as charts: the hourly ones, or the daily ones if the first hourly ones have
    expired.

    Before the first hour of samples is over, these are samples of five minutes. The title names the span, the
    month, and the days if they are not the whole month. Raises `Invalid` if there are no samples.
    """
    return _charts(instance, in_month(instance, month))


def last_day(instance: Instance, at: datetime) -> Samples:
    """Return the samples from which `of_last_day` makes statistics."""
    since = at - timedelta(hours=24)
    rows = _rows(instance, since, at, Sample.Span.FIVE_MINUTES)
    if not rows:
        raise Invalid(NONE_YET)
    return Samples("last 24 hours", since, at, Sample.Span.FIVE_MINUTES, rows)


def in_month(instance: Instance, month: date) -> Samples:
    """Return the samples from which `of_month` makes statistics."""
    since, until = start_of(month), start_of(next_month(month))
    found = {span: _rows(instance, since, until, span) for span in (Sample.Span.HOUR, Sample.Span.DAY)}
    span = min((span for span in found if found[span]), key=lambda span: found[span][0][0].date(), default=None)
    if span is None:
        span = Sample.Span.FIVE_MINUTES
        found[span] = _rows(instance, since, until, span)
    rows = found[span]
    if not rows:
        raise Invalid(NONE_YET)
    return Samples(_when(month, rows[0][0].date(), rows[-1][0].date()), since, until, span, rows)


def _when(month: date, first: date, last: date) -> str:
    """Return the month, with the charted days if these are not the whole month: ``2026-03, days 4 to 9``."""
    if first == month and last + timedelta(days=1) == next_month(month):
        return f"{month:%Y-%m}"
    days = f"day {first.day}" if first == last else f"days {first.day} to {last.day}"
    return f"{month:%Y-%m}, {days}"


def _rows(instance: Instance, since: datetime, until: datetime, span: int) -> list[tuple]:
    taken = Sample.objects.filter(instance=instance, span=span, at__gte=since, at__lt=until)
    return list(taken.order_by("at").values_list("at", *COUNTERS))


def _charts(instance: Instance, samples: Samples) -> dict[str, Any]:
    series: dict[str, list[list[float]]] = {name: [] for name in COUNTERS}
    for at, *values in samples.rows:
        moment = int(at.timestamp() * 1000)
        for name, value in zip(COUNTERS, values, strict=True):
            series[name].append([moment, round(value, 2)])
    return {
        "title": f"{instance.label} ({instance.pk}), {samples.when}, {TITLES[Sample.Span(samples.span)]}",
        "data": {
            "cpu": series["cpu"],
            "io": {"io": series["io"], "swap": series["swap"]},
            "netv4": _network(series, "v4"),
            "netv6": _network(series, "v6"),
        },
    }


def _network(series: dict[str, list[list[float]]], family: str) -> dict[str, list[list[float]]]:
    return {name: series[f"{family}_{name}"] for name in ("in", "out", "private_in", "private_out")}
