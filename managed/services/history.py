"""The results of a service's checks: the last day in five-minute steps, the last 30 days by the hour, and uptimes.

Two queries, whatever the number of measurements.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import DateTimeField, F, Func, Max, Sum, Value

from managed.models import Measurement, Service

STEP = timedelta(minutes=5)
HOUR = timedelta(hours=1)
DAY, WEEK, MONTH = timedelta(days=1), timedelta(days=7), timedelta(days=30)
PERIODS = {"Last 24 hours": DAY, "Last 7 days": WEEK, "Last 30 days": MONTH}
"""The periods of uptimes that pages show."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """All checks of a period that starts at `at`. `average` and `highest` are milliseconds of successful checks."""

    at: datetime
    checks: int
    failed: int
    average: float | None
    highest: float | None = None


@dataclass(frozen=True, slots=True)
class Uptime:
    """The number of checks in a period, and of failed checks."""

    checks: int
    failed: int

    @property
    def percent(self) -> str:
        """The percentage with two decimals, rounded down: it is 100 only if no check failed."""
        if not self.checks:
            return "–"
        if not self.failed:
            return "100 %"
        return f"{(self.checks - self.failed) * 10_000 // self.checks / 100:.2f} %"


@dataclass(frozen=True, slots=True)
class History:
    """The results of a service's checks.

    `day` has spans of `STEP` and `month` has spans of an hour, oldest first and without spans that had no check.
    """

    at: datetime
    day: list[Span]
    month: list[Span]

    def uptime(self, period: timedelta) -> Uptime:
        """Return the uptime over `period`: up to a day with the precision of `STEP`, for more with that of an
        hour.
        """
        spans = self.day if period <= DAY else self.month
        start = _floor(self.at - period, STEP if period <= DAY else HOUR)
        counted = [span for span in spans if span.at >= start]
        return Uptime(sum(span.checks for span in counted), sum(span.failed for span in counted))


def history(service: Service, at: datetime) -> History:
    """Return the history up to `at`.

    Checks of the last hours are not averaged yet: this function adds them up by the hour.
    """
    edge = _floor(at - DAY, HOUR)
    steps = _steps(service, edge, at)
    start = _floor(at - DAY, STEP)
    return History(
        at,
        [span for span in steps if span.at >= start],
        [*_hours(service, _floor(at - MONTH, HOUR), edge), *_by_hour(steps)],
    )


def _steps(service: Service, since: datetime, until: datetime) -> list[Span]:
    binned = Func(Value(STEP), F("at"), Value(_EPOCH), function="date_bin", output_field=DateTimeField())
    found = Measurement.objects.filter(service=service, span=Measurement.Span.CHECK, at__gte=since, at__lte=until)
    rows = found.annotate(step=binned).order_by("step").values_list("step")
    times = {"average": Sum("milliseconds"), "highest": Max("milliseconds")}
    return [
        Span(step, checks, failed, total / (checks - failed) if total is not None else None, highest)
        for step, checks, failed, total, highest in rows.annotate(n=Sum("checks"), bad=Sum("failed"), **times)
    ]


def _hours(service: Service, since: datetime, until: datetime) -> list[Span]:
    found = Measurement.objects.filter(service=service, span=Measurement.Span.HOUR, at__gte=since, at__lt=until)
    return [Span(*row) for row in found.order_by("at").values_list("at", "checks", "failed", "milliseconds")]


def _by_hour(steps: Iterable[Span]) -> list[Span]:
    hours: dict[datetime, list[Span]] = {}
    for step in steps:
        hours.setdefault(_floor(step.at, HOUR), []).append(step)
    return [_together(at, spans) for at, spans in hours.items()]


def _together(at: datetime, spans: list[Span]) -> Span:
    checks, failed = sum(span.checks for span in spans), sum(span.failed for span in spans)
    total = sum(span.average * (span.checks - span.failed) for span in spans if span.average is not None)
    return Span(at, checks, failed, total / (checks - failed) if checks > failed else None)


def _floor(moment: datetime, step: timedelta) -> datetime:
    return moment - (moment - _EPOCH) % step
