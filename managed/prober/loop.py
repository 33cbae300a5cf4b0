"""Many checks at once: one event loop for each process, in a thread of its own.

The task that the clock sends only claims due services and passes them to the loop. So a slow service delays neither
the others nor the worker. The checks of a process that died are due again when their leases have run out. A process
that ends in order releases them.
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
"""The maximum number of services claimed at a time.

Further due services wait for other processes or the next notification.
"""
PACE_SECONDS = 0.005
"""Seconds between the starts of two checks. Hundreds started at the same moment would make each other late."""
FILES_PER_CHECK = 4
"""Open files that a check may need: its connections, and those of the DNS look-up."""
SPARE_FILES = 100
"""Open files for everything else in the process."""


class Prober:
    """The checks that are in progress in this process. One thread writes their outcomes, one after the other."""

    def __init__(self, most: int):
        self._most = _affordable(most)
        self._under_way: dict[int, Probe] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}  # of started checks, used only in the loop's thread
        self._changed = threading.Condition()
        self._books = ThreadPoolExecutor(1, thread_name_prefix="probe-books")
        self._loop = asyncio.new_event_loop()
        self._next = 0.0  # on the loop's clock: when the next check may begin
        self._thread = threading.Thread(target=self._loop.run_forever, name="prober", daemon=True)
        self._thread.start()

    def begin_due(self) -> bool:
        """Claim and begin due checks up to the capacity. Return whether more may be due."""
        guard.control_plane()  # looked up here, where waiting does no harm, and not in the loop
        self._drop_superseded()
        most = min(self.capacity(), BATCH)
        probes = probing.claim(most) if most else []
        self.begin(probes)
        return len(probes) == most

    def capacity(self) -> int:
        """Return the number of further checks that this process may begin."""
        with self._changed:
            return max(0, self._most - len(self._under_way))

    def _drop_superseded(self) -> None:
        """Stop the checks whose outcome does not count any more.

        They have no lease, which would limit their number. A customer who changes a hanging service again and again
        would fill the process with them.
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
        """Wait until no check is in progress. Return False if this takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, timeout)

    def close(self) -> None:
        """Stop, and release the checks in progress: they need not wait for their leases to run out."""
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
            self._next = max(self._next + PACE_SECONDS, self._loop.time())
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
            log.warning(
                "too busy to measure whether service %s answers in time: the check is due again", probe.service_id
            )
        except Exception:
            log.exception("the check of service %s has no result: the check is due again", probe.service_id)

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
    """Settle a check, and retry once if the database was restarted. No outcome is written twice."""
    close_old_connections()
    try:
        probing.settle(probe, outcome)
    except (OperationalError, InterfaceError) as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise  # another transaction keeps the account locked: other outcomes have waited long enough
        close_old_connections()
        probing.settle(probe, outcome)


def _affordable(most: int) -> int:
    """Return the number of checks, up to `most`, that this process may open files for, after raising its own
    limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most * FILES_PER_CHECK + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        most = min(most, max(1, (soft - SPARE_FILES) // FILES_PER_CHECK))
    return most


_probers: dict[int, Prober] = {}
_making = threading.Lock()


def here() -> Prober:
    """Return the prober of this process. A fork has none of its parent's threads, and gets a prober of its own."""
    pid = os.getpid()
    with _making:
        if pid not in _probers or not _probers[pid].alive:
            _probers.clear()
            _probers[pid] = Prober(settings.PROBE_CONCURRENCY)
        return _probers[pid]


def stop() -> None:
    """Stop the prober of this process, if it has one."""
    prober = _probers.pop(os.getpid(), None)
    if prober is not None:
        prober.close()
