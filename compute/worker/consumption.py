"""Distinguishes a worker that takes messages from one that is connected and takes none.

A worker sends a message to itself every few seconds, into a queue of its own. The message goes through the broker
and comes back over the channel that brings the worker its tasks. A channel that brings no tasks does not bring this
message either. A worker whose slots are all busy takes no messages, and that is healthy: time limits end its tasks.
"""

from dataclasses import dataclass
from enum import Enum

CHECK_EVERY = 2.0
"""Seconds between two checks."""
PATIENCE_SECONDS = 6.0
"""How long a message may take to come back while a slot is free."""
STALL_SECONDS = 3 * CHECK_EVERY
"""Seconds between two checks above which the worker itself stood still, so that no message could come back."""
RELAPSE_SECONDS = 60.0
"""The time after a reconnect within which a new stall shows that reconnecting does not help."""


class Verdict(Enum):
    """The outcome of a check: the worker has to reconnect, has to end, or can go on."""

    HEALTHY = "healthy"
    RECONNECT = "reconnect"
    END = "end"


@dataclass(slots=True)
class Consumption:
    """The checks of one worker over all its connections. Times are seconds of a monotonic clock."""

    unanswered_since: float | None = None
    """The time at which the oldest unanswered message was sent; None if all messages came back."""
    checked_at: float | None = None
    reconnected_at: float | None = None

    def connected(self) -> None:
        """Forget the messages of the connection before."""
        self.unanswered_since = self.checked_at = None

    def sent(self, now: float) -> None:
        """Note that the broker has accepted a message."""
        if self.unanswered_since is None:
            self.unanswered_since = now

    def took(self) -> None:
        """Note that the worker took a message, or need not take any."""
        self.unanswered_since = None

    def check(self, now: float) -> Verdict:
        """Judge the worker. If the verdict is to reconnect, a later verdict may be to end."""
        stalled = self.checked_at is not None and now - self.checked_at > STALL_SECONDS
        self.checked_at = now
        if stalled:
            self.unanswered_since = None
        if self.unanswered_since is None or now - self.unanswered_since < PATIENCE_SECONDS:
            return Verdict.HEALTHY
        self.unanswered_since = None
        if self.reconnected_at is not None and now - self.reconnected_at < RELAPSE_SECONDS:
            return Verdict.END
        self.reconnected_at = now
        return Verdict.RECONNECT
