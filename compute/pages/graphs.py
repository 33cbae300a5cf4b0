"""Graphs of an instance's usage: processor, disk and network, of the last 24 hours or of a month."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, TypeAlias

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import now
from django.views.generic import TemplateView

from accounts.pages.base import signed_in
from compute.models import Instance
from compute.pages.base import InstanceTab
from compute.services.common.months import month_of, start_of
from compute.services.stats import stats
from compute.services.stats.sampling import COUNTERS
from config.display.charts import Series, TimeSeriesChart
from config.display.time_zones import zone_of
from config.errors import Invalid, TooMany
from config.pages.views import Limited, is_htmx
from config.web.headers import too_many

MONTHS_OFFERED = 12
MONTH = re.compile(r"(20[0-9]{2})-(0[1-9]|1[0-2])").fullmatch
BIT_UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
"""Units of the network, from the largest: the first that the highest value reaches is used."""
TONES = ("first", "second")
Values: TypeAlias = list[float | None]
"""A value for each step of time, None for a gap."""
Line: TypeAlias = tuple[str, Values]
"""A label and its values."""


class StatsPage(TemplateView, Limited):
    """A page of graphs, under the API's limit on statistics. htmx gets the graphs alone.

    Beyond the limit, the page has the reason in place of graphs.
    """

    throttle_scope = "stats"
    part_template: ClassVar[str]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        refusal = None
        try:
            with self.limited():
                graphs = self.graphs()
        except TooMany as error:
            graphs, refusal = self.no_graphs(str(error)), error
        if is_htmx(request):
            page = render(request, self.part_template, {"view": self, **graphs})
        else:
            page = self.render_to_response(self.get_context_data(**graphs))
        if refusal is None or is_htmx(request):  # htmx shows no part that it gets with an error
            return page
        return too_many(page, refusal.seconds)

    def graphs(self) -> dict[str, Any]:
        """Return the context of the graphs."""
        raise NotImplementedError

    def no_graphs(self, reason: str) -> dict[str, Any]:
        """Return the context of the page without graphs."""
        return {"charts": [], "no_charts": reason}


class GraphsView(InstanceTab, StatsPage):
    """``/home/instances/<id>/graphs?month=2026-01``; without `month` the last 24 hours."""

    template_name = "compute/instance_graphs.html"
    part_template = "compute/instance_graphs_part.html"

    def graphs(self) -> dict[str, Any]:
        """The charts, or the reason why there are none, and the months that can be chosen. Two queries at most."""
        at, month = now(), self.month
        try:
            found = stats.in_month(self.instance, month) if month else stats.last_day(self.instance, at)
        except Invalid as error:
            return self.no_graphs(str(error))
        charts = list(charts_of(found, at, signed_in(self.request).timezone))
        return {**self.no_graphs(""), "charts": charts}

    def no_graphs(self, reason: str) -> dict[str, Any]:
        months = months_of(self.instance, now())
        return {**super().no_graphs(reason), "month": self.month, "months": months}

    @property
    def month(self) -> date | None:
        """The month in the address, or None for the last 24 hours."""
        return month_in(self.request.GET.get("month", ""))


def month_in(text: str) -> date | None:
    """The first day of a month like ``2026-01``; None for other texts."""
    found = MONTH(text)
    return date(int(found[1]), int(found[2]), 1) if found else None


def months_of(instance: Instance, at: datetime) -> list[date]:
    """The months in which the instance existed, the newest first."""
    month, first = month_of(at), month_of(instance.created)
    found = [month]
    while month > first and len(found) < MONTHS_OFFERED:
        month = month_of(start_of(month) - timedelta(days=1))
        found.append(month)
    return found


@dataclass(frozen=True, slots=True)
class _Grid:
    """The samples at equal steps from `start` on: for each counter a list of values, None for a gap."""

    start: datetime
    step: timedelta
    values: dict[str, Values]

    @classmethod
    def of(cls, samples: stats.Samples, at: datetime) -> "_Grid":
        """The grid of the samples' whole time, without the part that lies after `at` and after all samples."""
        span = samples.span
        first = int(samples.since.timestamp()) // span
        last = max(int(min(samples.until, at).timestamp()) - 1, int(samples.rows[-1][0].timestamp())) // span
        steps = last - first + 1
        values: dict[str, Values] = {name: [None] * steps for name in COUNTERS}
        for moment, *row in samples.rows:
            place = int(moment.timestamp()) // span - first
            for name, value in zip(COUNTERS, row, strict=True):
                values[name][place] = value
        return cls(datetime.fromtimestamp(first * span, UTC), timedelta(seconds=span), values)

    def sum(self, *names: str) -> Values:
        """The sum of several counters, which have their gaps in common."""
        return [
            None if row[0] is None else sum(value or 0 for value in row)
            for row in zip(*(self.values[name] for name in names), strict=True)
        ]


def charts_of(samples: stats.Samples, at: datetime, zone: str) -> Iterator[TimeSeriesChart]:
    """Processor, disk and network; the private network only if it was used. Times are shown in the zone."""
    grid = _Grid.of(samples, at)
    where = (grid.start, grid.step)
    yield line_chart("graph-cpu", "Processor", "%", *where, [("Usage", grid.values["cpu"])], zone)
    disk = [("Read and written", grid.values["io"]), ("Swap", grid.values["swap"])]
    yield line_chart("graph-disk", "Disk", "blocks/s", *where, disk, zone)
    networks = (("graph-network", "Public network", ""), ("graph-private", "Private network", "private_"))
    for name, title, kind in networks:
        received = grid.sum(f"v4_{kind}in", f"v6_{kind}in")
        sent = grid.sum(f"v4_{kind}out", f"v6_{kind}out")
        if not kind or any((*received, *sent)):
            yield traffic_chart(name, title, *where, received, sent, zone)


def line_chart(
    name: str,
    title: str,
    unit: str,
    start: datetime,
    step: timedelta,
    lines: Sequence[tuple[str, Values]],
    zone: str,
) -> TimeSeriesChart:
    """Return a chart of at most two lines, which are pairs of a label and values in the unit."""
    series = [
        Series(label, tone, values, additive=False) for (label, values), tone in zip(lines, TONES, strict=False)
    ]
    return TimeSeriesChart.of(
        name, f"{title}, {unit}", start, step, lines=series, zone=zone_of(zone or "UTC"),
        description=". ".join(_summary(label, values, unit) for label, values in lines) + ".",
    )  # fmt: skip


def traffic_chart(
    name: str, title: str, start: datetime, step: timedelta, received: Values, sent: Values, zone: str
) -> TimeSeriesChart:
    """Return a chart of traffic, whose values are in bits per second, in the unit that fits the highest value."""
    highest = max(value or 0 for value in (*received, *sent))
    factor, unit = next((each for each in BIT_UNITS if highest >= each[0]), (1, "bit/s"))
    lines = [("Received", _scaled(received, factor)), ("Sent", _scaled(sent, factor))]
    return line_chart(name, title, unit, start, step, lines, zone)


def _scaled(values: Values, factor: float) -> Values:
    return [None if value is None else value / factor for value in values]


def _summary(label: str, values: Values, unit: str) -> str:
    """``Sent: 1.2 Mbit/s on average, at most 8.4 Mbit/s``."""
    there = [value for value in values if value is not None]
    average = sum(there) / len(there)
    return f"{label}: {average:,.1f} {unit} on average, at most {max(there):,.1f} {unit}"
