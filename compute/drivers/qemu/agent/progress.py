"""How far a long verb has come."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`percent` 0..100, 100 only when it is over; `wait` seconds until the next question."""

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
