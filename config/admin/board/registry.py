"""The registry of the first page's parts.

Each app registers its parts once, at import, as it registers its notices.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.http import HttpRequest

from config.admin.board.bars import BarTable
from config.display.charts import TimeSeriesChart


@dataclass(frozen=True, slots=True)
class Number:
    """A count with its noun, linked to the list of the counted rows. `of` adds a remark in small letters."""

    label: str
    value: str
    address: str
    of: str = ""
    tone: str = ""


Figure = BarTable | TimeSeriesChart
Part = Callable[[HttpRequest], Iterable[Number | Figure]]


@dataclass(frozen=True, slots=True)
class Board:
    """The numbers and figures that the user of a request may see."""

    numbers: list[Number] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


_parts: list[tuple[int, Part]] = []


def part(place: int) -> Callable[[Part], Part]:
    """Register a function that returns numbers and figures for the user of a request. Parts are sorted by `place`.

    The function first checks whether the user may see the rows. It makes a fixed number of queries. Each query
    reads a bounded number of rows of a table that grows with time.
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
