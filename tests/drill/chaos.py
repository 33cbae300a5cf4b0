"""Failures of the processes of an installation while clients use it."""

import math
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

from tests.drill.figures import Log
from tests.drill.installation import LEASE, Installation, Kept, families, frozen, signalled
from tests.drill.means import Clock, Disk

FREEZE = LEASE + 3
"""Seconds for which a process is frozen: its leases expire, and others take its jobs."""
JUMPS = ("+20m", "-20m", "+5h", "-5h", "+2d", "+0")
KILL_EVERY = 2.0
BACK = 60.0
"""Seconds within which a killed server must be back."""


@dataclass
class Chaos:
    """Disturb `site` and the workers `others` of another host, and count the disturbances in `done`."""

    site: Installation
    log: Log
    rng: random.Random
    others: list[Kept]
    disk: Disk | None
    clock: Clock | None
    full_seconds: float
    done: Counter[str] = field(default_factory=Counter)

    def run(self, seconds: float) -> None:
        """Disturb in random order, and repeat until the time is over. Workers are killed all the time."""
        stopped = threading.Event()
        killer = threading.Thread(target=self._kill_along, args=(stopped,), daemon=True)
        killer.start()
        try:
            end = time.monotonic() + seconds
            self._run_disturbances()
            if self.disk:
                self.fill()
            while time.monotonic() < end:
                self._run_disturbances(end)
        finally:
            stopped.set()
            killer.join()
            if self.clock:
                self.clock.set("+0")

    def _run_disturbances(self, end: float = math.inf) -> None:
        """Do each disturbance once, until `end`."""
        turn = [
            self.freeze_workers, self.kill_worker, self.freeze_web, self.kill_web,
            self.broker, self.database, self.jump,
        ]  # fmt: skip
        self.rng.shuffle(turn)
        for act in turn:
            act()
            time.sleep(self.rng.uniform(1, 3))
            if time.monotonic() > end:
                return

    def _kill_along(self, stopped: threading.Event) -> None:
        while not stopped.wait(self.rng.uniform(KILL_EVERY / 2, KILL_EVERY * 1.5)):
            self.kill()

    def kill(self) -> None:
        """Kill a process that works on jobs by SIGKILL. Its parent starts another."""
        above = self._workers()
        chosen = [each for each in families(above) if each.pid not in above]
        if chosen and signalled(self.rng.choice(chosen), signal.SIGKILL):
            self.done["kills"] += 1

    def kill_worker(self) -> None:
        """Kill the parent of the processes that work on jobs, by SIGKILL. They end too. ``make serve`` starts
        another."""
        if workers := self.site.workers():
            signalled(self.rng.choice(workers), signal.SIGKILL)
            self.done["kills of a whole worker"] += 1

    def _workers(self) -> list[int]:
        return [*(each.pid for each in self.site.workers()), *(each.pid for each in self.others)]

    def freeze_workers(self) -> None:
        """Freeze all processes of one worker at any point, and continue them later."""
        first = self.rng.choice(self._workers())
        with frozen(families([first])):
            time.sleep(FREEZE)
        self.done["freezes of a worker"] += 1

    def freeze_web(self) -> None:
        if webs := self.site.webs():
            with self.log.window("web"), frozen([self.rng.choice(webs)]):
                time.sleep(FREEZE)
            self.done["freezes of a web process"] += 1

    def kill_web(self) -> None:
        """Kill a process that answers requests, by SIGKILL. Its parent starts another."""
        if webs := self.site.webs():
            killed = self.rng.choice(webs)
            with self.log.window("web"):
                signalled(killed, signal.SIGKILL)
                self._back(lambda: self._replaced(killed, len(webs)), "a web process")
            self.done["kills of a web process"] += 1

    def _replaced(self, killed: psutil.Process, count: int) -> bool:
        there = {each.pid for each in self.site.webs()}
        return killed.pid not in there and len(there) >= count

    def broker(self) -> None:
        """Stop or kill the broker. Its content is lost. ``make serve`` starts it again."""
        with self.log.window("broker"):
            there = self.site.brokers()
            if self.rng.random() < 0.5:
                self.site.valkey.stop()
            else:
                for each in there:
                    signalled(each, signal.SIGKILL)
            self._back(self.site.valkey.answers, "the broker")
        self.done["restarts of the broker"] += 1

    def database(self) -> None:
        """Stop or kill the database. ``make serve`` starts it again."""
        with self.log.window("database"):
            if self.rng.random() < 0.4:
                self.site.postgres.stop()
                self.done["restarts of the database"] += 1
            else:
                first = int((self.site.postgres.data / "postmaster.pid").read_text().splitlines()[0])
                for each in families([first]):
                    signalled(each, signal.SIGKILL)
                self.done["kills of the database"] += 1
            self.site.database_is_back()

    def fill(self) -> None:
        """Fill the disk of database and uploads for a while."""
        assert self.disk is not None
        with self.log.window("disk"):
            with self.disk.full():
                time.sleep(self.full_seconds)
            self.site.database_is_back()
        self.done["full disks"] += 1

    def jump(self) -> None:
        """Change the clock of the processes on the other host."""
        if self.clock:
            for offset in self.rng.sample(JUMPS, 2):
                self.clock.set(offset)
                time.sleep(2)
                self.done["jumps of the clock"] += 1

    def _back(self, is_back: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + BACK
        while not is_back():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} does not come back")
            time.sleep(0.1)
