"""The errors that services raise: plain classes that know neither HTTP nor DRF.

``config.api.exceptions`` turns them into the one error body of the contract, ``{"errors": [{"field": …, "reason":
…}]}``. The admin shows them as messages.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

T = TypeVar("T")
PIECE = re.compile(r"(\[[0-9]+\])")
"""An item's position within a dotted path."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a request: `field` is a dotted path (``devices.sda.disk_id``) or None, `reason` a sentence.

    A reason marks a text that a client sent as `quoted` (`config.word`). `spell` removes the marks. In processes
    that answer clients, it also gives each reason the word of the installation. The field keeps its neutral form.
    """

    reason: str
    field: str | None = None
    spell: ClassVar[Callable[[str], str] | None] = None

    def __post_init__(self) -> None:
        if Problem.spell is not None:
            object.__setattr__(self, "reason", Problem.spell(self.reason))


def span(low: float | None, high: float | None) -> str:
    """Return the words for a range between two bounds, of which one may be None: ``3-64``, ``2``, ``at most
    64``.
    """
    if low is not None and high is not None:
        return f"{low}" if low == high else f"{low}-{high}"
    return f"at least {low}" if high is None else f"at most {high}"


def wrong_length(low: int | None, high: int | None) -> str:
    """Return the reason for a text of the wrong length, as in the contract: ``Length must be 3-50 characters``."""
    return f"Length must be {span(low, high)} characters"


class DomainError(Exception):
    """Base of the errors with which a service refuses. `problems` is never empty."""

    def __init__(self, reason: str, field: str | None = None):
        self.problems: tuple[Problem, ...] = (Problem(reason, field),)
        super().__init__(self.problems[0].reason)

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "DomainError":
        """Build one error that reports all `problems` at once, as the contract requires."""
        problems = tuple(problems)
        error = cls(problems[0].reason, problems[0].field)
        error.problems = problems
        return error

    def with_fields(self, named: Callable[[str | None], str | None]) -> Self:
        """Name the fields of the problems as `named` says, such as those of a form. Return the error itself."""
        self.problems = tuple(Problem(each.reason, named(each.field)) for each in self.problems)
        return self


class Invalid(DomainError):
    """Bad input, or a transition that the state does not allow. Answers 400."""


class Busy(Invalid):
    """Another job runs on the instance. Clients retry on exactly this text. Answers 400."""

    def __init__(self, reason: str = "Compute busy.", field: str | None = None):
        super().__init__(reason, field)


class ScopeLacking(DomainError):
    """The token is valid but lacks the scope. Answers 401, with a reason of its own."""


class Denied(DomainError):
    """The caller sees the entity but may not do this to it. Answers 403."""

    def __init__(self, reason: str = "Unauthorized", field: str | None = None):
        super().__init__(reason, field)


class Missing(DomainError):
    """Absent, or not visible to the caller: the two must look alike. Answers 404."""

    def __init__(self, reason: str = "Not found", field: str | None = None):
        super().__init__(reason, field)


class TooMany(DomainError):
    """A limit on attempts is reached: `count` of them, until its window ends in `seconds`. Answers 429.

    The reason tells people when to try again. The API tells its clients in headers.
    """

    def __init__(self, reason: str, count: int, seconds: float):
        super().__init__(reason)
        self.count = count
        self.seconds = max(1, math.ceil(seconds))


class Problems:
    """Collects failing fields so that a service can report all of them at once.

    >>> problems = Problems()
    >>> problems.add("label", "label is required")
    >>> problems.raise_any()
    """

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self.positions: Mapping[str, Sequence[int]] = {}
        """For each list whose items failed in part, by its path: the positions of its remaining items in the
        request. A service counts only the items that it sees, but clients count all that they sent.
        """

    def add(self, field: str | None, reason: str) -> None:
        self._found.append(Problem(reason, self._as_sent(field)))

    def extend(self, others: "Problems") -> None:
        """Add the problems of `others`. A caller collects them separately to know whether there were any.

        Problems of a field that is named already are dropped: the field failed before, and could not be checked
        further.
        """
        named = {found.field for found in self._found if found.field is not None}
        for found in others:
            if self._as_sent(found.field) not in named:
                self.add(found.field, found.reason)

    def note(self, refused: DomainError) -> None:
        """Add the problems of an error that another function raised."""
        for found in refused.problems:
            self.add(found.field, found.reason)

    def __bool__(self) -> bool:
        return bool(self._found)

    def __contains__(self, field: str | None) -> bool:
        """Tell whether the field, or a part of it, is named already. Then a check that needs it is skipped."""
        asked = self._as_sent(field)
        if asked is None:
            return False
        parts = (f"{asked}.", f"{asked}[")
        return any(found.field == asked or (found.field or "").startswith(parts) for found in self._found)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def _as_sent(self, field: str | None) -> str | None:
        """Return a field's path with the items' positions in the request: ``nodes[0]`` may be ``nodes[2]``."""
        if field is None or not self.positions:
            return field
        path = ""
        for piece in PIECE.split(field):
            index = int(piece[1:-1]) if piece.startswith("[") else 0
            seen = self.positions.get(path) if piece.startswith("[") else None
            path += f"[{seen[index]}]" if seen and index < len(seen) else piece
        return path

    def raise_any(self) -> None:
        """Raise `Invalid` with all problems added. Do nothing if there are none."""
        if self._found:
            raise Invalid.of(self._found)

    def checked(self, value: T | None) -> T:
        """Return `value`, or raise `Invalid` with all problems added.

        A check that finds no value adds a problem, so after all checks the value is not None. Raises `TypeError` if
        `value` is None and there are no problems: then a check is missing.
        """
        self.raise_any()
        if value is None:
            raise TypeError("A checked value is None, and no check has added a problem.")
        return value
