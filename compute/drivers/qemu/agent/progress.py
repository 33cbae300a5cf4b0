"""The progress of a long verb."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a long verb. `percent` is 100 only at the end. `wait` is in seconds, until the next poll."""

    percent: int = 100
    wait: float = 1.0
    rate: float | None = None
    """MB a second, of calls that copy data."""
    remaining: float | None = None
    """Seconds, of calls that copy data."""

    @property
    def done(self) -> bool:
        return self.percent >= 100


DONE = Progress()
