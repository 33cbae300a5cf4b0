"""Runs child processes, restarts those that die, and stops all of them at the end.

A child is a fork of the supervisor, so that it shares the memory of the modules that the supervisor has imported
(docs/decisions/forks-of-one-process.md).
"""

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from billiard import Process

from config.laptop.serving.forks import STOP_SIGNALS, end, fork, kill_session

FIRST_PAUSE = 0.5
MAX_PAUSE = 30.0
# The pause grows after this number of deaths in a row: a worker that is killed a few times comes back at once.
QUICK_RESTARTS = 5
# A process that has run for this number of seconds has recovered: its deaths are counted from 0 again.
STEADY_AFTER = 30.0
# Seconds for work in progress: a job that does not end in time is claimed after its lease, at the next start.
STOP_SECONDS = 5.0
WAKE_SECONDS = 1.0


@dataclass
class Child:
    """A process to keep running. `main` runs in the process, which ends when `main` returns."""

    name: str
    main: Callable[[], None]
    process: Process | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    deaths: int = 0
    """The number of deaths in a row, each soon after a start."""

    def start(self) -> None:
        self.process = fork(self.name, self.main)
        self.started_at = time.monotonic()


@dataclass
class Supervisor:
    """Keeps `children` running inside a ``with`` block.

    `tend` is called about once a second to keep other services running. `say` gets a line for each crash.
    """

    children: list[Child]
    tend: Callable[[], None]
    say: Callable[[str], None]
    _mask: set[int] = field(default_factory=set, repr=False)

    def __enter__(self) -> "Supervisor":
        # From here on the supervisor waits for signals instead of handling them: none can interrupt a start or the
        # stop.
        self._mask = set(signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS | {signal.SIGCHLD}))
        for child in self.children:
            child.start()
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            end([child.process for child in self.children if child.process], STOP_SECONDS)
        finally:
            # A second Ctrl-C during the stop has nothing left to interrupt.
            while signal.sigtimedwait(STOP_SIGNALS, 0):
                pass
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def run_until(self, done: Callable[[], bool], seconds: float | None = None) -> bool | None:
        """Run until `done()` and return True, until a signal and return None, or for `seconds` and return False."""
        deadline = None if seconds is None else time.monotonic() + seconds
        longest = WAKE_SECONDS if seconds is None else 0.1
        while not done():
            if deadline and time.monotonic() > deadline:
                return False
            woken = signal.sigtimedwait(STOP_SIGNALS | {signal.SIGCHLD}, self._until_restart(longest))
            if woken and woken.si_signo in STOP_SIGNALS:
                return None
            self._restart_dead()
            self.tend()
        return True

    def _until_restart(self, longest: float) -> float:
        """Return the seconds until the next restart is due, at most `longest`."""
        due = min((child.due_at for child in self.children if child.process is None), default=math.inf)
        return min(longest, max(0.0, due - time.monotonic()))

    def _restart_dead(self) -> None:
        now = time.monotonic()
        for child in self.children:
            if child.process and (code := child.process.exitcode) is not None:
                kill_session(child.process)  # the dead child's forks must not run at the same time as its successor
                child.process.join()  # closes its pipe
                self._note_death(child, code, now)
            if child.process is None and now >= child.due_at:
                child.start()

    def _note_death(self, child: Child, code: int, now: float) -> None:
        child.deaths = 1 if now - child.started_at > STEADY_AFTER else child.deaths + 1
        pause = pause_after(child.deaths)
        self.say(f"{child.name} ended ({_why(code)}), again in {pause:g} s")
        child.due_at = now + pause
        child.process = None


def pause_after(deaths: int) -> float:
    """Return the seconds before a restart after `deaths` in a row. The pause doubles with each further death."""
    doubled = max(0, deaths - QUICK_RESTARTS)
    return min(FIRST_PAUSE * 2.0 ** min(doubled, 10), MAX_PAUSE)


def _why(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
