"""Charts of response times, drawn by the server as SVG, so that the browser needs no script."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from config.display.plurals import counted
from managed.services.history import Span

WIDTH, HEIGHT = 900, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 8, 38
"""Margins around the plot for the axes, in units of the drawing, which are about a pixel."""
MIN_MARK_WIDTH = 2.5
"""The minimum width of the mark of a failed check, so that a single one in a month is visible."""
UNITS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid: its position and its label."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A period in which checks failed."""

    x: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The data that the template draws. `lines` and `areas` are lists of points in SVG's notation."""

    name: str
    title: str
    description: str
    lines: list[str]
    areas: list[str]
    marks: list[Mark]
    y_ticks: list[Tick]
    x_ticks: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM
    marks_top: int = HEIGHT - BOTTOM + 3
    labels: int = HEIGHT - BOTTOM + 27
    fall: int = HEIGHT - BOTTOM - TOP


@dataclass(frozen=True, slots=True)
class Axes:
    """Maps times and milliseconds to coordinates. Spans are `step` long, `most` is the highest value."""

    start: datetime
    end: datetime
    step: timedelta
    most: float

    def x(self, at: datetime) -> float:
        share = (min(max(at, self.start), self.end) - self.start) / (self.end - self.start)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, milliseconds: float) -> float:
        return round(HEIGHT - BOTTOM - milliseconds / self.most * (HEIGHT - TOP - BOTTOM), 1)

    def middle(self, span: Span) -> float:
        return self.x(span.at + self.step / 2)


def draw(
    name: str, title: str, spans: Sequence[Span], start: datetime, end: datetime, step: timedelta,
    interval: timedelta, every: timedelta,
) -> Chart:  # fmt: skip
    """Return the chart of `spans`, each `step` long and oldest first, from `start` to `end`.

    Checks are made each `interval`. If more than two of them are missing, the line is broken. The days or hours of
    the lower axis are `every` apart.
    """
    y_ticks = list(_nice(max([1, *(span.highest or span.average or 0 for span in spans)])))
    axes = Axes(start, end, step, y_ticks[-1])
    runs = list(_runs(spans, 2.5 * max(step, interval)))
    return Chart(
        name, title, describe(spans),
        lines=[_line(run, axes) for run in runs],
        areas=[_area(run, axes) for run in runs if any(span.highest is not None for span in run)],
        marks=list(_marks(spans, axes)),
        y_ticks=[Tick(axes.y(value), milliseconds(value)) for value in y_ticks],
        x_ticks=list(_times(axes, every)),
    )  # fmt: skip


def describe(spans: Iterable[Span]) -> str:
    """Describe the chart in a sentence or two, for readers who cannot see it."""
    spans = list(spans)
    checks, failed = sum(span.checks for span in spans), sum(span.failed for span in spans)
    if not checks:
        return "No checks."
    averages = [span.average for span in spans if span.average is not None]
    highest = [span.highest or span.average or 0 for span in spans]
    failures = f"{failed or 'None'} of {counted(checks, 'check')} failed."
    if not averages:
        return failures
    total = sum((span.average or 0) * (span.checks - span.failed) for span in spans)
    mean = total / (checks - failed)
    return f"{milliseconds(mean)} on average, at most {milliseconds(max(highest))}. {failures}"


def milliseconds(value: float) -> str:
    """Return a number of milliseconds as text: ``0``, ``4.5 ms``, ``250 ms``, ``1.5 s``."""
    if value >= 1000:
        return f"{value / 1000:.2f}".rstrip("0").rstrip(".") + " s"
    if 0 < value < 10:
        return f"{value:.1f}".removesuffix(".0") + " ms"
    return f"{value:.0f} ms" if value else "0"


def _nice(highest: float) -> Iterator[float]:
    """Return three to six round values from 0 to `highest` or a little more."""
    unit = next(
        count * 10.0**power for power in range(-1, 9) for count in UNITS if count * 10.0**power * 5 >= highest
    )
    value = 0.0
    yield value
    while value < max(highest, 2 * unit):
        value += unit
        yield value


def _runs(spans: Sequence[Span], patience: timedelta) -> Iterator[list[Span]]:
    """Yield runs of spans that a line connects.

    A run ends if there was no check for `patience`, or if none succeeded.
    """
    run: list[Span] = []
    for span in spans:
        if run and (span.average is None or span.at - run[-1].at > patience):
            yield run
            run = []
        if span.average is not None:
            run.append(span)
    if run:
        yield run


def _line(run: list[Span], axes: Axes) -> str:
    points = [f"{axes.middle(span)},{axes.y(span.average or 0)}" for span in run]
    return " ".join(points if len(points) > 1 else points * 2)  # a line of one point is a dot


def _area(run: list[Span], axes: Axes) -> str:
    """Return the area between the averages and the slowest responses."""
    above = [f"{axes.middle(span)},{axes.y(span.highest or 0)}" for span in run]
    below = [f"{axes.middle(span)},{axes.y(span.average or 0)}" for span in reversed(run)]
    return " ".join(above + below)


def _marks(spans: Sequence[Span], axes: Axes) -> Iterator[Mark]:
    """Return one mark for each run of spans with failed checks."""
    run: list[Span] = []
    for span in spans:
        if run and (not span.failed or span.at - run[-1].at > axes.step):
            yield _mark(run, axes)
            run = []
        if span.failed:
            run.append(span)
    if run:
        yield _mark(run, axes)


def _mark(run: list[Span], axes: Axes) -> Mark:
    first, last = run[0].at, run[-1].at + axes.step
    checks, failed = sum(span.checks for span in run), sum(span.failed for span in run)
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{last:%b %d %H:%M}"
    x = axes.x(first)
    width = max(MIN_MARK_WIDTH, round(axes.x(last) - x, 1))
    return Mark(x, width, f"{first:%b %d %H:%M}–{until}: {failed} of {counted(checks, 'check')} failed")


def _times(axes: Axes, every: timedelta) -> Iterator[Tick]:
    """Yield ticks `every` so long, at whole hours for a distance of hours, at whole days for days."""
    midnight = axes.start.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight
    while at <= axes.end:
        if at >= axes.start:
            yield Tick(axes.x(at), f"{at:%H:%M}" if at.hour or at.minute else f"{at:%b} {at.day}")
        at += every
