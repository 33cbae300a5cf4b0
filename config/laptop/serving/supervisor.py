"""Runs child processes, restarts those that die, and stops all of them at the end."""

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# The pause grows after this number of deaths in a row: a worker that is killed a few times comes back at once.
QUICK_RESTARTS = 5
# A process that has run for this number of seconds has recovered: its deaths are counted from 0 again.
STEADY_AFTER = 30.0
# Seconds for work in progress: a job that does not end in time is claimed after its lease, at the next start.
STOP_SECONDS = 5.0
WAKE_SECONDS = 1.0

STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process to keep running."""

    name: str
    command: Sequence[str]
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    due_at: float = 0.0
    deaths: int = 0
    """The number of deaths in a row, each soon after a start."""

    def start(self) -> None:
        # A session of its own: the terminal's Ctrl-C reaches only the supervisor, which then stops the children in
        # order. A child that does not stop can be killed with all its forks.
        self.process = subprocess.Popen(  # noqa: S603
            self.command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_before_exec
        )
        self.started_at = time.monotonic()

    def kill_group(self) -> None:
        """Kill the rest of the process and its descendants."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


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
            self._stop()
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
            if child.process and child.process.poll() is not None:
                self._reap(child, child.process.returncode, now)
            if child.process is None and now >= child.due_at:
                child.start()

    def _reap(self, child: Child, code: int, now: float) -> None:
        child.kill_group()  # the dead child's forks must not run at the same time as its successor
        child.deaths = 1 if now - child.started_at > STEADY_AFTER else child.deaths + 1
        pause = pause_after(child.deaths)
        self.say(f"{child.name} ended ({_why(code)}), again in {pause:g} s")
        child.due_at = now + pause
        child.process = None

    def _stop(self) -> None:
        alive = [(child, child.process) for child in self.children if child.process]
        for _, process in alive:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child, process in alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            child.kill_group()
            process.wait()


def pause_after(deaths: int) -> float:
    """Return the seconds before a restart after `deaths` in a row. The pause doubles with each further death."""
    doubled = max(0, deaths - QUICK_RESTARTS)
    return min(FIRST_PAUSE * 2.0 ** min(doubled, 10), LONGEST_PAUSE)


def _why(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _before_exec() -> None:
    """Run in the child: unblock signals, and make the kernel stop the child if the supervisor is killed."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
