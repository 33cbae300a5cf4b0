"""The cost of expensive calls: seconds of work, measured, and limited for each account.

A few calls cost a good part of a second, by what a customer stored or asks for: lists with large filters, copies
and zone files of large domains, grants of large accounts. A limit on their number would be too tight for cheap ones
or too loose for expensive ones. So the seconds of work of each call are counted, beyond those of an ordinary one.
Beyond the limit the account's expensive calls are answered 429 until the window ends.

The meter counts the processor time of the request's thread, and the time in which its statements ran
(`config.db.timing`). It does not count waiting for a processor, a lock, a connection to the database or a server of
somebody else. On a busy machine the database waits for a processor too. That time counts, because PostgreSQL does
not tell it from work.

Each process counts for itself, in its memory. So the limit is a share of each process, and costs no round trip.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from config.db import timing

ORDINARY = 0.02
"""Seconds of each call that do not count. The other limits bound the number of quick calls."""
MOST_SUBJECTS = 10_000
"""Subjects that are remembered, at most; with more, those whose windows have ended are forgotten."""


class Meter:
    """Seconds spent by each subject (``account:7``): at most `most` in a window of `window` seconds, which starts
    at the subject's first expensive call. The call that exceeds the limit is finished, the next one is refused.

    All threads of a process share one.
    """

    def __init__(self, most: float, window: float):
        self.most, self.window = most, window
        self.lock = threading.Lock()
        self.spent: dict[str, tuple[float, float]] = {}
        """For each subject the seconds spent, and when its window ends by the monotonic clock."""

    def wait(self, subject: str) -> float:
        """Seconds until the subject may make another expensive call; 0 where it may now."""
        seconds, end = self.spent.get(subject, (0.0, 0.0))
        left = end - time.monotonic()
        return left if left > 0 and seconds >= self.most else 0.0

    @contextmanager
    def measured(self, subject: str) -> Iterator[None]:
        """Charge the subject with the work of the block, which runs in this thread. Blocks are not nested."""
        with timing.watched() as statements:
            began = time.thread_time()
            try:
                yield
            finally:
                took = time.thread_time() - began + statements()
                if took > ORDINARY:
                    self.charge(subject, took - ORDINARY)

    @contextmanager
    def limited(self, subject: str, refusal: Callable[[int, float], Exception]) -> Iterator[None]:
        """As `measured`. If the subject has spent its seconds, raise `refusal(limit, seconds to wait)`."""
        if seconds := self.wait(subject):
            raise refusal(int(self.most), seconds)
        with self.measured(subject):
            yield

    def charge(self, subject: str, seconds: float) -> None:
        now = time.monotonic()
        with self.lock:  # two threads of one account would lose one of two charges
            if len(self.spent) >= MOST_SUBJECTS:
                self.spent = {each: kept for each, kept in self.spent.items() if kept[1] > now}
            before, end = self.spent.get(subject, (0.0, 0.0))
            self.spent[subject] = (before + seconds, end) if end > now else (seconds, now + self.window)
