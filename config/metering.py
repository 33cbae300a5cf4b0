"""What expensive calls cost: the seconds that they hold this process, measured, and bounded for each account.

A few calls take a web process a good part of a second, by what a customer put there or asks for: lists with large
filters, copies and zone files of large domains, hashes of passwords. A limit on their number would be too tight for
cheap ones or too loose for expensive ones. So the seconds are counted that each call really took, past those of an
ordinary one, and beyond the limit the account is answered 429 until the window ends.

Each process counts for itself, in its memory: the limit is a share of each process, and costs no round trip.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

ORDINARY = 0.02
"""Seconds that count for nothing: many quick calls are the other limits' business."""
MOST_SUBJECTS = 10_000
"""Subjects that are remembered, at most; with more, those whose windows have ended are forgotten."""


class Meter:
    """Seconds spent by each subject (``account:7``): at most `most` in a window of `window` seconds, which starts
    at the subject's first expensive call. The call that exceeds the limit is finished, the next one is refused.
    """

    def __init__(self, most: float, window: float):
        self.most, self.window = most, window
        self.spent: dict[str, tuple[float, float]] = {}
        """For each subject the seconds spent, and when its window ends by the monotonic clock."""

    def wait(self, subject: str) -> float:
        """Seconds until the subject may make another expensive call; 0 where it may now."""
        seconds, end = self.spent.get(subject, (0.0, 0.0))
        left = end - time.monotonic()
        return left if left > 0 and seconds >= self.most else 0.0

    @contextmanager
    def measured(self, subject: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            if took > ORDINARY:
                self.charge(subject, took - ORDINARY)

    def charge(self, subject: str, seconds: float) -> None:
        now = time.monotonic()
        if len(self.spent) >= MOST_SUBJECTS:
            self.spent = {each: kept for each, kept in self.spent.items() if kept[1] > now}
        before, end = self.spent.get(subject, (0.0, 0.0))
        self.spent[subject] = (before + seconds, end) if end > now else (seconds, now + self.window)
