"""The cost of expensive calls: seconds of work, measured, and limited for each account.

A few calls take a good part of a second, depending on what a customer stored or asks for. Examples are lists with
large filters, copies and zone files of large domains, and grants of large accounts. A limit on their number would
be too tight for cheap calls or too loose for expensive ones. So the meter counts the seconds of work of each call,
beyond those of an ordinary one. Above the limit, the account's expensive calls are answered 429 until the window
ends.

The meter counts the processor time of the request's thread, and the time in which its statements ran
(`config.db.timing`). It does not count waiting for a processor, a lock, a connection to the database or another
organisation's server. On a busy machine the database waits for a processor too. That time counts, because
PostgreSQL does not distinguish it from work.

Each process counts for itself, in its memory. So the limit applies to each process, and costs no round trip.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from config.db import timing

FREE_SECONDS = 0.02
"""The seconds of each call that do not count. The other limits bound the number of quick calls."""
MAX_SUBJECTS = 10_000
"""The maximum number of subjects in memory. Above it, subjects whose windows have ended are dropped."""


class Meter:
    """The seconds spent by each subject (``account:7``): at most `most` in a window of `window` seconds.

    The window starts at the subject's first expensive call. The call that exceeds the limit is finished, and the
    next one is refused. All threads of a process share one meter.
    """

    def __init__(self, most: float, window: float):
        self.most, self.window = most, window
        self.lock = threading.Lock()
        self.spent: dict[str, tuple[float, float]] = {}
        """For each subject: the seconds spent, and the end of its window by the monotonic clock."""

    def wait(self, subject: str) -> float:
        """Return the seconds until the subject may make another expensive call, or 0."""
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
                if took > FREE_SECONDS:
                    self.charge(subject, took - FREE_SECONDS)

    @contextmanager
    def limited(self, subject: str, refusal: Callable[[int, float], Exception]) -> Iterator[None]:
        """Charge the subject, as `measured` does.

        If it has spent its seconds, raise `refusal(limit, seconds to wait)`.
        """
        if seconds := self.wait(subject):
            raise refusal(int(self.most), seconds)
        with self.measured(subject):
            yield

    def charge(self, subject: str, seconds: float) -> None:
        now = time.monotonic()
        with self.lock:  # without the lock, one of two charges by threads of one account would be lost
            if len(self.spent) >= MAX_SUBJECTS:
                self.spent = {each: kept for each, kept in self.spent.items() if kept[1] > now}
            before, end = self.spent.get(subject, (0.0, 0.0))
            self.spent[subject] = (before + seconds, end) if end > now else (seconds, now + self.window)
