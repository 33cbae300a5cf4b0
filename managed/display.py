"""The charts of monitored services that customers and staff see."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from config.display.charts import Series, TimeSeriesChart
from config.display.plurals import counted
from config.display.quantities import milliseconds
from config.display.time_zones import zone_of
from managed.services import history
from managed.services.history import History, Span


def charts_of(found: History, zone: str) -> Iterator[TimeSeriesChart]:
    """Yield the charts of the last 24 hours and of the last 30 days, each if there was a check.

    Times are shown in the zone of that name. The values of months are averages of hours.
    """
    step = max(history.STEP, timedelta(seconds=settings.PROBE_EVERY))  # with a shorter step, lines would be dots
    if found.day:
        yield _chart("graph-day", "Response time of the last 24 hours, ms", found.day, step, found.at, zone)
    if found.month:
        yield _chart(
            "graph-month", "Response time of the last 30 days, ms", found.month, history.HOUR, found.at, zone
        )


def _chart(
    name: str, title: str, spans: Sequence[Span], step: timedelta, until: datetime, zone: str
) -> TimeSeriesChart:
    start = spans[0].at
    average: list[float | None] = [None] * ((until - start) // step + 1)
    slowest, failed = list(average), list(average)
    for span in spans:
        at = (span.at - start) // step
        average[at], slowest[at], failed[at] = span.average, span.highest, (failed[at] or 0) + span.failed
    lines = [Series("Average", "first", average, additive=False)]
    if any(value is not None for value in slowest):
        lines.append(Series("Slowest", "second", slowest, additive=False))
    return TimeSeriesChart.of(
        name, title, start, step, lines=lines, marks=[Series("Failed checks", "failed", failed)],
        description=_describe(spans), zone=zone_of(zone or "UTC"),
    )  # fmt: skip


def _describe(spans: Sequence[Span]) -> str:
    """Return the average, the highest response time, and the number of failed checks in words."""
    checks, failed = sum(span.checks for span in spans), sum(span.failed for span in spans)
    failures = f"{failed or 'None'} of {counted(checks, 'check')} failed."
    if checks == failed:
        return failures
    mean = sum((span.average or 0) * (span.checks - span.failed) for span in spans) / (checks - failed)
    highest = max(span.highest or span.average or 0 for span in spans)
    return f"{milliseconds(mean)} on average, at most {milliseconds(highest)}. {failures}"
