"""The errors that services raise: plain classes that know neither HTTP nor DRF.

``config.api.exceptions`` turns them into the one error body of the contract,
``{"errors": [{"field": …, "reason": …}]}``; the admin shows them as messages.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a request: `field` is a dotted path (``devices.sda.disk_id``) or None, `reason` a sentence."""

    reason: str
    field: str | None = None


class DomainError(Exception):
    """Base of the errors by which a service refuses. `problems` is never empty."""

    def __init__(self, reason: str, field: str | None = None):
        self.problems: tuple[Problem, ...] = (Problem(reason, field),)
        super().__init__(reason)

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "DomainError":
        """Build one error that reports all `problems` at once, as the contract asks."""
        problems = tuple(problems)
        error = cls(problems[0].reason, problems[0].field)
        error.problems = problems
        return error


class Invalid(DomainError):
    """Bad input or a transition that the state forbids. Answers 400."""


class Busy(Invalid):
    """Another job runs on the instance. Clients retry on exactly this text. Answers 400."""

    def __init__(self, reason: str = "Compute busy.", field: str | None = None):
        super().__init__(reason, field)


class Denied(DomainError):
    """The caller sees the entity but may not do this to it. Answers 403."""

    def __init__(self, reason: str = "Unauthorized", field: str | None = None):
        super().__init__(reason, field)


class Missing(DomainError):
    """Absent, or not visible to the caller: the two must look alike. Answers 404."""

    def __init__(self, reason: str = "Not found", field: str | None = None):
        super().__init__(reason, field)


class Problems:
    """Collects failing fields so that a service can report all of them at once.

    >>> problems = Problems()
    >>> problems.add("label", "label is required")
    >>> problems.raise_any()
    """

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, field: str | None, reason: str) -> None:
        self._found.append(Problem(reason, field))

    def extend(self, others: "Problems") -> None:
        """Add the problems of `others`, collected apart by a caller that needs to know whether there were any."""
        self._found.extend(others._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raise `Invalid` with all problems added, or do nothing where there are none."""
        if self._found:
            raise Invalid.of(self._found)
