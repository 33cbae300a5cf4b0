"""Waiting for a state, never for a fixed time."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 600, every: float = 0.02) -> None:
    """Return when `condition` is true. Fail if it is not within `seconds`, which allows for many leases and
    retries.

    Set `every` higher than 0.02 seconds if the condition sends a request or runs a program. The condition
    shares two cores with the work that it waits for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every)
