"""Pages: ``page`` from 1, ``page_size`` 25..500, and the envelope around them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.api.paths import BIGGEST
from config.errors import Problems

SMALLEST_PAGE, BIGGEST_PAGE, DEFAULT_SIZE = 25, 500, 100
NUMBER = re.compile(r"[0-9]+", re.ASCII)
DIGITS = len(str(BIGGEST))


@dataclass(frozen=True, slots=True)
class Page:
    """Which page is asked for."""

    number: int = 1
    size: int = DEFAULT_SIZE

    @property
    def offset(self) -> int:
        return min((self.number - 1) * self.size, BIGGEST - self.size)  # offset plus size must fit a bigint

    def envelope(self, data: list[Any], total: int) -> dict[str, Any]:
        """The body of a list. `total` counts the whole collection. A page past the last has no data."""
        pages = -(-total // self.size) or 1
        return {"data": data, "page": self.number, "pages": pages, "results": total}


FIRST = Page()
SHORTEST = Page(size=1)
"""The page to read if only the total is needed."""


def read_page(query: Mapping[str, str]) -> Page:
    """Read ``page`` and ``page_size``; a value out of bounds raises `Invalid`, naming the parameter."""
    problems = Problems()
    number = _number(query.get("page", "1"))
    size = _number(query.get("page_size", str(DEFAULT_SIZE)))
    if number is None or number < 1:
        problems.add("page", "page must be at least 1")
    if size is None or not SMALLEST_PAGE <= size <= BIGGEST_PAGE:
        problems.add("page_size", f"page_size must be {SMALLEST_PAGE}-{BIGGEST_PAGE}")
    problems.raise_any()
    return Page(number or 1, size or DEFAULT_SIZE)


def _number(text: str) -> int | None:
    """The number that is written, or one past all that there may be; None where it is none."""
    if not NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= DIGITS else BIGGEST
