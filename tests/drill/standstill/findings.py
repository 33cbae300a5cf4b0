"""Findings of a case: times with their limits, counts, and faults that no time excuses."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.drill.standstill.customers import TIMEOUT_SECONDS, statuses, unfinished, wait_for


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds `before` a disturbance and `during` or after it, and the highest allowed value.

    None if the event did not happen at all.
    """

    name: str
    before: float | None
    during: float | None
    limit: float

    @property
    def missed(self) -> bool:
        return self.during is None or self.during > self.limit

    def __str__(self) -> str:
        return f"{self.name}: {_text(self.during)} s, before {_text(self.before)}, allowed are {self.limit:g}"


@dataclass
class Findings:
    """The findings of a case. `counts` are printed, `wrong` must be empty."""

    times: list[Timed] = field(default_factory=list)
    counts: dict[str, object] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, holds: object, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)

    def all_end(self, after: str, seconds: float = TIMEOUT_SECONDS) -> bool:
        """Tell whether all jobs end within `seconds`."""
        ends = wait_for(lambda: not unfinished(), seconds)
        self.expect(ends, f"jobs wait for ever after {after}")
        self.wrong += unfinished()
        return ends

    def all_run(self, instances: Iterable[int]) -> None:
        """Check that all of these instances are running."""
        found = statuses(instances)
        self.wrong += [f"instance {pk} is {status}" for pk, status in found.items() if status != "running"]

    @property
    def missed(self) -> list[str]:
        return [str(each) for each in self.times if each.missed]

    def figures(self) -> dict[str, str]:
        """The figures that the report prints, by name."""
        found = {name: str(value) for name, value in self.counts.items()}
        for each in self.times:
            found |= {
                f"{each.name} before": _text(each.before),
                f"{each.name} during": _text(each.during),
                f"{each.name} limit": f"{each.limit:g}",
            }
        return found


def _text(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.2f}"
