"""What changed over time: stacked columns, and a line above them, on a common axis of time.

Places across are percents and heights are pixels, so that a figure is as wide as its page lets it be while its
words keep their size. Beside the drawing there is a table of the same numbers, in fewer rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

HEIGHT, TOP, BOTTOM = 150, 16, 22
"""Of the drawing, in pixels, with what the axes' words need above and below."""
UNITS = (1, 2, 2.5, 5)
ROWS = 12
"""Of the table, at most."""


@dataclass(frozen=True, slots=True)
class Series:
    """A value for each step of time; None where there is none. `whole` says that values add up, such as counts."""

    name: str
    tone: str
    values: Sequence[float | None]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Piece:
    """A rectangle: `x` and `width` in percents, `y` and `height` in pixels."""

    tone: str
    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    label: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Course:
    """The figure as its template draws it; `Course.of` makes one."""

    name: str
    title: str
    description: str
    unit: str
    pieces: list[Piece]
    lines: list[tuple[str, str]]
    ups: list[Tick]
    acrosses: list[Tick]
    legend: list[tuple[str, str]]
    headers: list[str]
    rows: list[list[str]]
    more: str = ""
    note: str = ""
    height: int = HEIGHT
    top: int = TOP
    floor: int = HEIGHT - BOTTOM
    fall: int = HEIGHT - BOTTOM - TOP
    template: str = field(default="admin/board/course.html")

    @classmethod
    def of(
        cls, name: str, title: str, start: datetime, step: timedelta, columns: Sequence[Series], *,
        description: str, lines: Sequence[Series] = (), unit: str = "", more: str = "", note: str = "",
    ) -> "Course":  # fmt: skip
        """The figure of `columns`, stacked, and of `lines`, all of which have as many values, `step` apart from
        `start` on. `name` is unique on its page; `unit` stands beside the highest number of the axis."""
        series = [*columns, *lines]
        steps = max([1, *(len(each.values) for each in series)])
        stacks = [sum(values) for values in zip(*(_numbers(each) for each in columns), strict=True)]
        highest = _ceiling(max([0, *stacks, *(value for each in lines for value in _numbers(each))]))
        return cls(
            name, title, description, unit,
            pieces=_pieces(columns, steps, highest),
            lines=[(each.tone, points) for each in lines for points in _runs(each, steps, highest)],
            ups=[Tick(_y(value, highest), _short(value)) for value in (highest, highest / 2, 0)],
            acrosses=_times(start, step, steps),
            legend=[(each.name, each.tone) for each in series],
            headers=["From", *(each.name for each in series)],
            rows=_rows(start, step, steps, series),
            more=more, note=note,
        )  # fmt: skip

    @property
    def empty(self) -> bool:
        return not self.pieces and not self.lines


def _numbers(series: Series) -> list[float]:
    return [value or 0 for value in series.values]


def _ceiling(highest: float) -> float:
    """The least round number that is not below `highest`, and at least 1."""
    power = 1.0
    while True:
        for unit in UNITS:
            if unit * power >= highest:
                return unit * power
        power *= 10


def _y(value: float, highest: float) -> float:
    return round(HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM), 2)


def _pieces(columns: Sequence[Series], steps: int, highest: float) -> list[Piece]:
    width = 100 / steps
    found = []
    for at in range(steps):
        below = 0.0
        for each in columns:
            value = each.values[at] or 0
            if value:
                y = _y(below + value, highest)
                found.append(
                    Piece(
                        each.tone, round(at * width, 3), round(width * 0.85, 3), y, round(_y(below, highest) - y, 2)
                    )
                )
                below += value
    return found


def _runs(series: Series, steps: int, highest: float) -> list[str]:
    """The points of each line without a gap, on a square of 100 by 100 that the template stretches."""
    found: list[list[str]] = [[]]
    for at, value in enumerate(series.values):
        if value is None:
            found.append([])
        else:
            found[-1].append(f"{(at + 0.5) * 100 / steps:.2f},{100 - 100 * value / highest:.2f}")
    return [" ".join(run if len(run) > 1 else run * 2) for run in found if run]


def _times(start: datetime, step: timedelta, steps: int) -> list[Tick]:
    """The beginning, the middle and the end."""
    times = [(0, "start"), (steps // 2, "middle"), (steps, "end")]
    return [Tick(round(100 * at / steps, 2), f"{start + at * step:%H:%M}", anchor) for at, anchor in times]


def _rows(start: datetime, step: timedelta, steps: int, series: Sequence[Series]) -> list[list[str]]:
    """Some steps together in each row: sums of what adds up, and the highest of what does not."""
    size = -(-steps // ROWS)
    found = []
    for at in range(0, steps, size):
        cells = []
        for each in series:
            values = [value for value in each.values[at : at + size] if value is not None]
            cells.append(_short(sum(values) if each.whole else max(values)) if values else "–")
        found.append([f"{start + at * step:%H:%M}", *cells])
    return found


def _short(value: float) -> str:
    """Without decimals where there are none, and with one where there are."""
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"
