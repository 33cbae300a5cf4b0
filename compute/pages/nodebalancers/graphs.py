"""Graphs of a load balancer: its connections and its traffic of the last 24 hours."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from accounts.pages.base import signed_in
from compute.pages.graphs import StatsPage, line_chart, traffic_chart
from compute.pages.nodebalancers.base import BalancerPage
from compute.services.nodebalancers import stats
from config.display.charts import TimeSeriesChart
from config.errors import Invalid

STEP = timedelta(seconds=stats.SAMPLE_SECONDS)


class GraphsView(BalancerPage, StatsPage):
    """``/home/load-balancers/<id>/graphs``."""

    template_name = "compute/nodebalancers/balancer_graphs.html"
    part_template = "compute/nodebalancers/balancer_graphs_part.html"
    tab = "load-balancer-graphs"

    def graphs(self) -> dict[str, Any]:
        """The charts, or the reason why there are none. One query."""
        try:
            found = stats.of_last_day(self.balancer)["data"]
        except Invalid as error:
            return self.no_graphs(str(error))
        return {**self.no_graphs(""), "charts": list(charts_of(found, signed_in(self.request).timezone))}


def charts_of(data: dict[str, Any], zone: str) -> Iterator[TimeSeriesChart]:
    """Connections and traffic. Times are shown in the zone."""
    start, connections = on_grid(data["connections"])
    lines = [("Connections", connections)]
    yield line_chart("graph-connections", "Connections", "connections/s", start, STEP, lines, zone)
    received, sent = (on_grid(data["traffic"][direction])[1] for direction in ("in", "out"))
    yield traffic_chart("graph-traffic", "Traffic", start, STEP, received, sent, zone)


def on_grid(points: Sequence[Sequence[float]]) -> tuple[datetime, list[float | None]]:
    """Return the time of the first point, and the values at equal steps from there on, with None for gaps.

    Points are pairs of a time in milliseconds and a value, in the order of time.
    """
    first = int(points[0][0]) // (stats.SAMPLE_SECONDS * 1000)
    places = {int(at) // (stats.SAMPLE_SECONDS * 1000) - first: value for at, value in points}
    start = datetime.fromtimestamp(first * stats.SAMPLE_SECONDS, UTC)
    return start, [places.get(place) for place in range(max(places) + 1)]
