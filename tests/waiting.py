"""Waiting for what has to come: for a state, never for a time."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 600, every: float = 0.02) -> None:
    """Return when `condition` holds; fail when it does not within `seconds`, many leases and retries.

    Who looks by a request or a program looks less often than `every` 0.02 seconds: two cores have both the looking
    and what is waited for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every)
