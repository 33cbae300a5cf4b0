"""The time between SIGTERM and the end of a serving process: whatever is before it ceases to send requests.

Once a server has closed its port, a proxy that has not noticed yet is refused, and what lay in the port's queue is
lost. So the process says first that it goes, by a 503 of ``/readyz``, and by closing each connection with the
answer it gives; all the same it answers whatever comes until `DRAIN_SECONDS` have passed.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

log = logging.getLogger(__name__)


class Drain:
    """Of this process, which sends itself SIGINT so many seconds after SIGTERM: that stops the server at once."""

    def __init__(self) -> None:
        self.begun = False
        self.told: list[Callable[[], None]] = []
        """What is called when it begins, on the loop: whose work lasts for longer than requests."""

    def prepare(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Take SIGTERM from the server, whose own way of SIGINT stays. With no seconds both stay the server's."""
        if seconds:
            loop.add_signal_handler(signal.SIGTERM, self._begin, loop, seconds)

    def _begin(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        if self.begun:  # whoever asks twice does not want to wait
            _stop()
            return
        self.begun = True
        for each in self.told:
            each()
        log.info("draining: this process goes on for %g seconds, and is not ready for more", seconds)
        loop.call_later(seconds, _stop)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


drain = Drain()
