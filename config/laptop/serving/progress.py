"""Progress of the start: one line for each phase, rewritten on a terminal and plain elsewhere."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import psutil

# Back to the start of the line, and erase the line.
REWRITE = "\r\x1b[K"
# Seconds between the progress lines of a long phase, if lines are not rewritten.
PLAIN_EVERY = 10.0
TICK_SECONDS = 1.0


class Progress:
    """Writes progress to `stream`, such as standard output.

    On a terminal, the line of a phase is rewritten as the phase continues, and ends with its seconds. Elsewhere the
    line is written when the phase begins, without control characters.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self._written = time.monotonic()

    @contextmanager
    def phase(self, text: str) -> Iterator[None]:
        """Show a phase that lasts as long as the block. Its line ends whether or not the block succeeds."""
        began = time.monotonic()
        self._show(text)
        took = ""
        try:
            yield
            took = f" ({time.monotonic() - began:.1f} s)"
        finally:
            if self.terminal:
                self.say(took)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a phase that may take minutes and reports no progress. Its line counts the seconds."""
        began, over = time.monotonic(), threading.Event()

        def tick() -> None:
            while not over.wait(TICK_SECONDS):
                self.count(f"{text}: {time.monotonic() - began:.0f} s")

        ticking = threading.Thread(target=tick, daemon=True)
        with self.phase(text):
            ticking.start()
            try:
                yield
            finally:
                over.set()
                ticking.join()

    def count(self, text: str) -> None:
        """Show `text` in place of the phase's line."""
        if self.terminal or time.monotonic() - self._written >= PLAIN_EVERY:
            self._show(text)

    def say(self, line: str) -> None:
        """Write a line that is not rewritten."""
        self.stream.write(f"{line}\n")
        self.stream.flush()

    def seconds(self) -> float:
        """Return the seconds since the command was typed: since make began if make runs it, else since this process
        began.
        """
        return time.time() - float(os.environ.get("SERVE_BEGAN") or psutil.Process().create_time())

    def _show(self, text: str) -> None:
        self._written = time.monotonic()
        self.stream.write(f"{REWRITE}{text}" if self.terminal else f"{text}\n")
        self.stream.flush()
