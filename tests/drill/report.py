"""What a drill tells at its end: a table of its figures, what failed, and lines for programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

SHOWN = 12
"""How many of the things that should not be are shown, of each kind."""


@dataclass
class Report:
    """Figures by their names, and failures."""

    figures: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def figure(self, name: str, value: object) -> None:
        self.figures[name] = str(value)

    def nothing(self, name: str, found: list[str]) -> None:
        """A figure that has to be 0: a drill that finds such things fails."""
        self.figure(name, len(found))
        if found:
            self.failures.append(f"{name}: " + "\n  ".join([str(len(found)), *found[:SHOWN]]))

    def lines(self) -> Iterator[str]:
        """The table, the failures, and a line ``drill <name> <value>`` for each figure that is one number."""
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
