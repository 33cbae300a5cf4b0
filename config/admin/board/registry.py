"""What apps register for the first page. Each app registers its parts once, at import, as it does its notices."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.http import HttpRequest

from config.admin.board.bars import BarTable
from config.charts import TimeSeriesChart


@dataclass(frozen=True, slots=True)
class Number:
    """A count with its noun, which leads to the list that has what was counted. `of` says more in small letters."""

    label: str
    value: str
    address: str
    of: str = ""
    tone: str = ""


Figure = BarTable | TimeSeriesChart
Part = Callable[[HttpRequest], Iterable[Number | Figure]]


@dataclass(frozen=True, slots=True)
class Board:
    """All that the user of a request may see."""

    numbers: list[Number] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


_parts: list[tuple[int, Part]] = []


def part(place: int) -> Callable[[Part], Part]:
    """Register a function that returns numbers and figures for the user of a request; parts are sorted by `place`.

    It asks first whether the user may see the rows. It costs a fixed number of queries, each of which reads no more
    than a bounded number of rows of a table that grows with time.
    """

    def register(build: Part) -> Part:
        _parts.append((place, build))
        return build

    return register


def board(request: HttpRequest) -> Board:
    found = Board()
    for _, build in sorted(_parts, key=lambda each: each[0]):
        for each in build(request):
            if isinstance(each, Number):
                found.numbers.append(each)
            else:
                found.figures.append(each)
    return found
