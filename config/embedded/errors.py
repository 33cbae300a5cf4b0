"""What goes wrong with an embedded service, in words for the person at the terminal."""

from collections import deque
from pathlib import Path


class EmbeddedError(Exception):
    """An embedded service cannot be started or used; the text says why."""


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a service's log, for an error message; empty if there is none."""
    try:
        with log.open(errors="replace") as lines:
            return "".join(deque(lines, maxlen=count))
    except OSError:
        return ""
