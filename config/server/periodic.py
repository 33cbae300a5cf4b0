"""Background services of a process that serves: functions that it calls periodically."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

log = logging.getLogger(__name__)


class BackgroundService(Protocol):
    """A service that starts when a process begins to serve, and stops with the process."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def stop(self) -> None: ...


class Periodic:
    """Calls `function` every `seconds` while the event loop runs, in a thread of its own, and `at_end` at the end.

    The loop counts the time: a process whose loop hangs calls nothing, and a call that takes long delays the next.
    Of failures in a row, the first is logged whole. The others are probably the same, and are logged in one line.
    """

    def __init__(self, seconds: float, function: Callable[[], None], at_end: Callable[[], None] | None = None):
        self.seconds, self.function, self.at_end = seconds, function, at_end
        self.thread = ThreadPoolExecutor(1, "periodic")
        self.task: asyncio.Task[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.task = loop.create_task(self._run(loop))

    def stop(self) -> None:
        """Stop for good, after the current call."""
        if self.task is not None:
            self.task.cancel()
        self.thread.shutdown()
        if self.at_end is not None:
            self.at_end()

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        failing = False
        while True:
            try:
                await loop.run_in_executor(self.thread, self.function)
                failing = False
            except Exception as error:
                log.error("%s failed; it is called again: %s", self.function, error, exc_info=not failing)
                failing = True
            await asyncio.sleep(self.seconds)
