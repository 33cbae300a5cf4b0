"""The difference of two texts, line by line, as a unified diff shows it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeAlias

Changes: TypeAlias = list[tuple[str, int, int, int, int]]
"""Changes that are near each other, as `difflib` returns them: the kind, and the lines of both texts."""
CONTEXT = 3
"""The unchanged lines that are shown before and after a change."""
MAX_COMPARISONS = 1_000_000
"""The comparisons of lines for one difference, which take about a tenth of a second."""


class TooDifferentError(Exception):
    """The texts have so many equal lines in different places that the comparison would take too long."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a difference. `kind` is ``same``, ``removed``, ``added``, or ``skipped`` for lines left out."""

    kind: str
    text: str


def differences(before: str, after: str) -> list[Line]:
    """Return the changed lines with their context; an empty list if the texts differ in nothing but line ends.

    Raises `TooDifferentError`.
    """
    old, new = _lines(before), _lines(after)
    groups = _BoundedMatcher(old, new).get_grouped_opcodes(CONTEXT)
    return list(_shown(groups, old, new))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _shown(groups: Iterable[Changes], old: list[str], new: list[str]) -> Iterator[Line]:
    for group in groups:
        first = group[0]
        yield Line("skipped", f"Line {first[3] + 1}")
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                yield from (Line("same", text) for text in new[new_start:new_end])
                continue
            yield from (Line("removed", text) for text in old[old_start:old_end])
            yield from (Line("added", text) for text in new[new_start:new_end])


class _BoundedMatcher(SequenceMatcher):
    """Compares lines, and gives up after `MAX_COMPARISONS`. Texts of lines that repeat could take minutes."""

    def __init__(self, old: list[str], new: list[str]):
        super().__init__(None, old, new)
        places: Mapping[str, list[int]] = self.b2j  # type: ignore[attr-defined] # missing in the stubs
        each = (1 + len(places.get(line, ())) for line in old)
        self._cost = list(accumulate(each, initial=0))
        """The comparisons of all lines before a position of `old`."""
        self._left = MAX_COMPARISONS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        self._left -= self._cost[-1 if ahi is None else ahi] - self._cost[alo]
        if self._left < 0:
            raise TooDifferentError
        return super().find_longest_match(alo, ahi, blo, bhi)
