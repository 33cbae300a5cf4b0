"""Many checks at once: one event loop for each process, in a thread of its own.

The task that the clock sends only claims what is due and hands it over, so that a service which takes its time
holds up neither the others nor the worker. What a process had under way when it died is due again when its
leases have run out; one that ends in order gives it back.
"""

import asyncio
import logging
import os
import resource
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection
from psycopg.errors import LockNotAvailable

from config.egress import guard
from managed.prober.checks import Stalled, check
from managed.services import probing
from managed.services.probing import Outcome, Probe

log = logging.getLogger(__name__)

BATCH = 100
"""Services, at most, that are claimed at a time: what is due beyond is for other processes, or the next
notification."""
PACE = 0.005
"""Seconds between two checks that begin. Hundreds begun in one moment would make each other late."""
FILES = 4
"""Open files that a check may need: its connections, and those of its look-up."""
SPARE = 100
"""Open files for all else in the process."""


class Prober:
    """The checks that this process has under way. Outcomes are written by one thread, one after the other."""

    def __init__(self, most: int):
        self._most = _affordable(most)
        self._under_way: dict[int, Probe] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}  # the loop's own: of those that have begun
        self._changed = threading.Condition()
        self._books = ThreadPoolExecutor(1, thread_name_prefix="probe-books")
        self._loop = asyncio.new_event_loop()
        self._next = 0.0  # of the loop's clock: when the next check may begin
        self._thread = threading.Thread(target=self._loop.run_forever, name="prober", daemon=True)
        self._thread.start()

    def look(self) -> bool:
        """Claim what is due, as far as there is capacity. True where more may be due than that."""
        guard.control_plane()  # looked up here, where it may take its time, and not amid the checks
        self._drop_superseded()
        most = min(self.capacity(), BATCH)
        probes = probing.claim(most) if most else []
        self.begin(probes)
        return len(probes) == most

    def capacity(self) -> int:
        """How many more checks there may be under way."""
        with self._changed:
            return max(0, self._most - len(self._under_way))

    def _drop_superseded(self) -> None:
        """Stop the checks that count for nothing any more.

        No lease tells of them: who changes a service that hangs again and again would fill the process with them.
        """
        with self._changed:
            rest = list(self._under_way.values())
        dropped = probing.superseded(rest)
        if dropped:
            self._loop.call_soon_threadsafe(self._cancel, dropped)

    def begin(self, probes: Collection[Probe]) -> None:
        with self._changed:
            self._under_way.update((id(probe), probe) for probe in probes)
        self._loop.call_soon_threadsafe(self._spread, probes)

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is under way; False where that takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, timeout)

    def close(self) -> None:
        """Stop, and give back what is under way, so that it need not wait for its lease to run out."""
        with self._changed:
            rest = list(self._under_way.values())
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._books.submit(_give_back, rest).result()
        self._books.shutdown()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _spread(self, probes: Collection[Probe]) -> None:
        for probe in probes:
            self._next = max(self._next + PACE, self._loop.time())
            self._loop.call_at(self._next, self._start, probe)

    def _cancel(self, probes: Collection[Probe]) -> None:
        for probe in probes:
            if task := self._tasks.get(id(probe)):
                task.cancel()

    def _start(self, probe: Probe) -> None:
        task = self._tasks[id(probe)] = self._loop.create_task(self._one(probe))
        task.add_done_callback(lambda done: self._forget(probe))

    async def _one(self, probe: Probe) -> None:
        try:
            outcome = await check(probe)
            await self._loop.run_in_executor(self._books, _settle, probe, outcome)
        except Stalled:
            log.warning("too busy to tell whether service %s answers in time: it is due again", probe.service_id)
        except Exception:
            log.exception("the check of service %s came to nothing: it is due again", probe.service_id)

    def _forget(self, probe: Probe) -> None:
        del self._tasks[id(probe)]
        with self._changed:
            del self._under_way[id(probe)]
            self._changed.notify_all()

    async def _end(self) -> None:
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


def _give_back(probes: list[Probe]) -> None:
    try:
        probing.release(probes)
    finally:
        connection.close()


def _settle(probe: Probe, outcome: Outcome) -> None:
    """Write an outcome, and try once more where the database was restarted. Nothing is written twice."""
    close_old_connections()
    try:
        probing.settle(probe, outcome)
    except (OperationalError, InterfaceError) as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise  # somebody keeps the account locked: the others have waited long enough
        close_old_connections()
        probing.settle(probe, outcome)


def _affordable(most: int) -> int:
    """As many checks as this process may have files open for, after it asked for as many as that takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most * FILES + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        most = min(most, max(1, (soft - SPARE) // FILES))
    return most


_probers: dict[int, Prober] = {}
_making = threading.Lock()


def here() -> Prober:
    """The prober of this process: a fork has none of its parent's threads, and begins its own."""
    pid = os.getpid()
    with _making:
        if pid not in _probers or not _probers[pid].alive:
            _probers.clear()
            _probers[pid] = Prober(settings.PROBE_CONCURRENCY)
        return _probers[pid]


def stop() -> None:
    """End the prober of this process, if it has one."""
    prober = _probers.pop(os.getpid(), None)
    if prober is not None:
        prober.close()
