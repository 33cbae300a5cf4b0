"""A chart of values over time, drawn by the server as SVG: stacked bars, lines, and marked times.

Horizontal positions are percents and heights are pixels. So a chart is as wide as its page, and its texts keep
their size. Below the drawing there is a table of the same numbers, in fewer rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import groupby

HEIGHT, TOP, BOTTOM = 150, 16, 22
"""In pixels: the height of the drawing, and the space for the texts of the axes above and below."""
UNITS = (1, 2, 2.5, 5)
MAX_ROWS = 12
"""The maximum number of rows in the table."""
MIN_MARK_WIDTH = 0.3
"""The minimum width of a mark, in percent, so that a single failed check in a month is visible."""
HOURS_ONLY = timedelta(days=2)
"""Charts of a shorter time show hours, longer ones also the date."""


@dataclass(frozen=True, slots=True)
class Series:
    """A value for each step of time, or None for a gap.

    `additive` values, such as counts, are summed in the table. For others, the table shows the highest.
    """

    name: str
    tone: str
    values: Sequence[float | None]
    additive: bool = True


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle: `x` and `width` in percents, `y` and `height` in pixels."""

    tone: str
    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Tick:
    position: float
    label: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class TimeSeriesChart:
    """The chart that ``components/chart.html`` draws. `TimeSeriesChart.of` makes one."""

    name: str
    title: str
    description: str
    unit: str
    bars: list[Bar]
    lines: list[tuple[str, str]]
    """The classes and the points of each line."""
    value_ticks: list[Tick]
    time_ticks: list[Tick]
    legend: list[tuple[str, str]]
    headers: list[str]
    rows: list[list[str]]
    more: str = ""
    note: str = ""
    height: int = HEIGHT
    top: int = TOP
    baseline: int = HEIGHT - BOTTOM
    plot_height: int = HEIGHT - BOTTOM - TOP
    template: str = "admin/board/chart.html"

    @classmethod
    def of(
        cls, name: str, title: str, start: datetime, step: timedelta, bars: Sequence[Series] = (), *,
        description: str, lines: Sequence[Series] = (), marks: Sequence[Series] = (), unit: str = "",
        more: str = "", note: str = "", zone: tzinfo = UTC,
    ) -> "TimeSeriesChart":  # fmt: skip
        """Return the chart of `bars`, stacked, of `lines`, and of `marks`: the times with a value other than 0.

        All have the same number of values, `step` apart, from `start` on. `name` is unique on its page. `unit` is
        shown at the highest number of the axis. Times are shown in `zone`.
        """
        series = [*bars, *lines, *marks]
        steps = max([1, *(len(each.values) for each in series)])
        stacks = [sum(values) for values in zip(*(_numbers(each) for each in bars), strict=True)]
        highest = _ceiling(max([0, *stacks, *(value for each in lines for value in _numbers(each))]))
        axis = _TimeAxis(start, step, steps, zone)
        return cls(
            name, title, description, unit,
            bars=[*(mark for each in marks for mark in _marks(each, steps)), *_bars(bars, steps, highest)],
            lines=[run for each in lines for run in _runs(each, steps, highest)],
            value_ticks=[Tick(_y(value, highest), _short(value)) for value in (highest, highest / 2, 0)],
            time_ticks=axis.ticks(),
            legend=[(each.name, each.tone) for each in series],
            headers=["From", *(each.name for each in series)],
            rows=_rows(axis, series),
            more=more, note=note,
        )  # fmt: skip

    @property
    def empty(self) -> bool:
        return not self.bars and not self.lines


@dataclass(frozen=True, slots=True)
class _TimeAxis:
    start: datetime
    step: timedelta
    steps: int
    zone: tzinfo

    def label(self, at: int) -> str:
        """Return the time at the beginning of a step."""
        moment = (self.start.astimezone(UTC) + at * self.step).astimezone(self.zone)
        return f"{moment:%H:%M}" if self.step * self.steps < HOURS_ONLY else f"{moment:%m-%d %H:%M}"

    def ticks(self) -> list[Tick]:
        """Return the times at the beginning, the middle and the end. A single step has no middle."""
        middle = {self.steps // 2: "middle"} if self.steps > 1 else {}
        positions = {0: "start", **middle, self.steps: "end"}
        return [Tick(round(100 * at / self.steps, 2), self.label(at), anchor) for at, anchor in positions.items()]


def _numbers(series: Series) -> list[float]:
    return [value or 0 for value in series.values]


def _ceiling(highest: float) -> float:
    """Return the smallest round number that is not below `highest`, and at least 1."""
    power = 1.0
    while True:
        for unit in UNITS:
            if unit * power >= highest:
                return unit * power
        power *= 10


def _y(value: float, highest: float) -> float:
    return round(HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM), 2)


def _bars(series: Sequence[Series], steps: int, highest: float) -> list[Bar]:
    width = 100 / steps
    found = []
    for at in range(steps):
        below = 0.0
        for each in series:
            value = each.values[at] or 0
            if value:
                y = _y(below + value, highest)
                height = round(_y(below, highest) - y, 2)
                found.append(Bar(each.tone, round(at * width, 3), round(width * 0.85, 3), y, height))
                below += value
    return found


def _marks(series: Series, steps: int) -> Iterator[Bar]:
    """Yield a rectangle of the chart's height for each run of steps with a value other than 0."""
    at = 0
    for marked, run in groupby(series.values, bool):
        length = len(list(run))
        if marked:
            width = max(100 * length / steps, MIN_MARK_WIDTH)
            x = min(100 * at / steps, 100 - width)
            yield Bar(series.tone, round(x, 3), round(width, 3), TOP, HEIGHT - BOTTOM - TOP)
        at += length


def _runs(series: Series, steps: int, highest: float) -> list[tuple[str, str]]:
    """Return the tone and the points of each line without a gap, on a square of 100 by 100 that the template
    stretches.

    A value without neighbours is a line from a point to itself, which is drawn as a dot.
    """
    found: list[list[str]] = [[]]
    for at, value in enumerate(series.values):
        if value is None:
            found.append([])
        else:
            found[-1].append(f"{(at + 0.5) * 100 / steps:.2f},{100 - 100 * value / highest:.2f}")
    return [
        (series.tone, " ".join(run)) if len(run) > 1 else (f"{series.tone} dot", " ".join(run * 2))
        for run in found
        if run
    ]


def _rows(axis: _TimeAxis, series: Sequence[Series]) -> list[list[str]]:
    """Return rows of several steps each: the sum of additive values, and the highest of others."""
    size = -(-axis.steps // MAX_ROWS)
    found = []
    for at in range(0, axis.steps, size):
        cells = []
        for each in series:
            values = [value for value in each.values[at : at + size] if value is not None]
            cells.append(_short(sum(values) if each.additive else max(values)) if values else "–")
        found.append([axis.label(at), *cells])
    return found


def _short(value: float) -> str:
    """Return the number with one decimal, or without decimals if it is whole or at least 100."""
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"
