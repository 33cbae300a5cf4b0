"""The time between SIGTERM and the end of a serving process, in which the load balancer stops sending requests.

When a server closes its port, a proxy that has not noticed yet is refused, and requests in the port's queue are
lost. So the process first announces its end: ``/readyz`` answers 503, and each answer closes its connection. It
still answers all requests until `DRAIN_SECONDS` have passed.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

log = logging.getLogger(__name__)


class Drain:
    """The draining of this process.

    SIGTERM starts it, and SIGINT, which stops the server, follows after some seconds.
    """

    def __init__(self) -> None:
        self.begun = False
        self.callbacks: list[Callable[[], None]] = []
        """Callbacks for the start of the draining, on the loop: for work that lasts longer than requests."""

    def prepare(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Replace the server's handler of SIGTERM. Its handler of SIGINT stays. With 0 seconds, both stay."""
        if seconds:
            loop.add_signal_handler(signal.SIGTERM, self._begin, loop, seconds)

    def _begin(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        if self.begun:  # a second signal: do not wait
            _stop()
            return
        self.begun = True
        for each in self.callbacks:
            each()
        log.info("draining: this process continues for %g seconds, and is not ready for new requests", seconds)
        loop.call_later(seconds, _stop)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


drain = Drain()
