"""The report of a drill: a table of its figures, the failures, and lines for programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

SHOWN = 12
"""The number of unwanted findings of each kind that the report shows."""


@dataclass
class Report:
    """Figures by their names, and failures."""

    figures: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def figure(self, name: str, value: object) -> None:
        self.figures[name] = str(value)

    def nothing(self, name: str, found: list[str]) -> None:
        """Add a figure that must be 0. A drill that finds such things fails."""
        self.figure(name, len(found))
        if found:
            self.failures.append(f"{name}: " + "\n  ".join([str(len(found)), *found[:SHOWN]]))

    def lines(self) -> Iterator[str]:
        """Yield the table, the failures, and a line ``drill <name> <value>`` for each figure that is one
        number."""
        width = max(map(len, self.figures), default=0)
        for name, value in self.figures.items():
            yield f"{name:<{width}}  {value}"
        for failure in self.failures:
            yield f"\nFAILED {failure}"
        yield ""
        for name, value in self.figures.items():
            if _is_number(value):
                yield f"drill {name.replace(' ', '-')} {value}"


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdigit()
