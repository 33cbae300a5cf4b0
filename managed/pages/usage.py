"""The usage of all instances of the account together, in the last 24 hours."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.timezone import now
from django.views.generic import TemplateView

from accounts.pages.base import signed_in
from compute.pages.graphs import Values, line_chart, traffic_chart
from config.display.charts import TimeSeriesChart
from config.pages.navigation import NOUNS
from managed.pages.base import ManagedPage
from managed.services import stats

STEP = timedelta(minutes=5)


class UsageView(ManagedPage, TemplateView):
    """``/home/monitoring/usage``."""

    template_name = "managed/usage.html"
    list_page = "monitoring-usage"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = stats.of_last_day(self.actor, now())
        charts = list(charts_of(found, signed_in(self.request).timezone)) if found["cpu"] else []
        heading = NOUNS[self.noun].label
        return super().get_context_data(heading=heading, tabs=self.tabs_of_noun(), charts=charts, **kwargs)


def charts_of(found: dict[str, list[dict[str, int]]], zone: str) -> Iterator[TimeSeriesChart]:
    """Processor, disk and network, from points that all have the same times. Times are shown in the zone."""
    times = [point["x"] // 1000 // int(STEP.total_seconds()) for point in found["cpu"]]
    start = datetime.fromtimestamp(times[0] * STEP.total_seconds(), UTC)

    def values(name: str) -> Values:
        at = dict(zip(times, (point["y"] for point in found[name]), strict=True))
        return [at.get(time) for time in range(times[0], times[-1] + 1)]

    yield line_chart("graph-cpu", "Processor", "%", start, STEP, [("Usage", values("cpu"))], zone)
    disk = [("Read and written", values("disk")), ("Swap", values("swap"))]
    yield line_chart("graph-disk", "Disk", "blocks/s", start, STEP, disk, zone)
    yield traffic_chart("graph-network", "Network", start, STEP, values("net_in"), values("net_out"), zone)
