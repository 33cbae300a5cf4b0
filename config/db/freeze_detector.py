"""Detection of a frozen database, in a process that serves. A frozen database is silent, a stopped one is not.

A stopped database refuses connections, and statements fail. A database whose processes or machine are frozen
refuses nothing. A statement then waits without end, and so does the thread that answers a request.

**Suspicion.** A thread notices that the event loop makes no progress, or that all threads of one of the pools in
which the process answers make none (`FreezeDetector.pools`). A long statement, a busy machine or many requests
cause this too, so a suspicion refuses no request.

**Evidence.** The thread then asks the database for a new connection. Requests are refused only if
`MAX_FAILED_TRIALS` trials in a row fail. A trial fails if the connection is not complete after `MAX_POLLS` punctual
polls. These take 5 seconds on a quiet machine, and longer on a busy one. A database that refuses the connection is
not silent.

Then the process shuts down its connections, so that no thread waits. It refuses requests at once until the database
gives a connection again.
"""

import asyncio
import logging
import os
import select
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from time import monotonic
from weakref import WeakSet

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq
from psycopg.conninfo import make_conninfo

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
"""Seconds between two checks of the loop, and between two trials while the database is silent."""
STALL_SECONDS = 5.0
"""Seconds without progress of the loop, or of all threads, before the database is asked.

Longer than `CHECK_SECONDS`.
"""
POLL_SECONDS, MAX_POLLS = 0.1, 50
"""Seconds of one poll of a new connection, and the number of punctual polls of a trial: 5 seconds."""
MAX_FAILED_TRIALS = 2
"""The number of failed trials in a row after which the database counts as silent."""

_open: "WeakSet[psycopg.Connection]" = WeakSet()
"""The connections of Django to the database in this process."""
_reading = threading.Lock()
"""Guards `_open`: a thread may add a connection while another reads the set."""


def known(link: psycopg.Connection) -> None:
    """Note a new connection, so that it can be shut down if the database is silent."""
    with _reading:
        _open.add(link)


def answers() -> bool:
    """Tell whether the database gives a new connection in time, or refuses one.

    Only punctual polls count. On a machine too busy to poll in time, an answer may wait unread, and a database on
    that machine is late too. There the trial lasts longer, and in the end the answer is read.
    """
    link = pq.PGconn.connect_start(_conninfo())
    try:
        awaited: int = pq.PollingStatus.WRITING
        punctual = 0
        while punctual < MAX_POLLS:
            if link.status == pq.ConnStatus.BAD:
                return True
            began = monotonic()
            if _is_ready(link.socket, awaited):
                awaited = link.connect_poll()
                if awaited == pq.PollingStatus.OK:
                    return True
            elif monotonic() - began < 2 * POLL_SECONDS:
                punctual += 1
        return False
    finally:
        link.finish()


def _is_ready(descriptor: int, awaited: int) -> bool:
    """Wait for a socket for at most one `POLL_SECONDS`. Return whether it is ready."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN if awaited == pq.PollingStatus.READING else select.POLLOUT)
    return bool(poll.poll(POLL_SECONDS * 1000))


def _conninfo() -> bytes:
    """Return the connection string of Django's database, without the parameters that only psycopg knows."""
    of_libpq = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    return make_conninfo(**{name: value for name, value in parameters.items() if name in of_libpq}).encode()


def cut_off() -> None:
    """Shut down the connections of this process. Running statements fail, as if the connection were lost."""
    with _reading:
        links = list(_open)
    for link in links:
        try:
            # A duplicated descriptor: libpq keeps the connection's own and closes it.
            with socket.socket(fileno=os.dup(link.fileno())) as own:
                own.shutdown(socket.SHUT_RDWR)
        except (psycopg.Error, OSError):  # it is closed already
            continue


class FreezeDetector:
    """Watches the loop of a process that serves (`config.server.periodic.BackgroundService`).

    `is_frozen` is whether the last trials found the database silent.
    """

    def __init__(self, asked: Callable[[], bool] = answers, cut: Callable[[], None] = cut_off):
        self.asked, self.cut = asked, cut
        self.is_frozen = False
        self.pools: list[Executor] = []
        """The pools in which this process answers. Without a free thread, requests wait although the loop runs."""
        self.turned = 0.0
        self.turning = False
        self.ended = threading.Event()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.turned = monotonic()
        threading.Thread(target=self._watch, args=(loop,), name="freeze-detector", daemon=True).start()

    def stop(self) -> None:
        self.ended.set()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self.ended.wait(CHECK_SECONDS):
            try:
                self.check_database()
            except Exception:
                log.exception("it is unknown whether the database answers")
            if self.turning:
                continue
            self.turning = True
            try:
                loop.call_soon_threadsafe(self._note_progress, self.pools)
            except RuntimeError:  # the loop is closed: the process ends
                return

    def _note_progress(self, pools: Sequence[Executor]) -> None:
        """Run on the loop, then in a thread of each pool. At the end, the loop and all pools have made progress."""
        if pools:
            pools[0].submit(self._note_progress, pools[1:])
            return
        self.turned, self.turning = monotonic(), False

    def check_database(self) -> None:
        """Ask the database for a connection if it is silent, or if the loop or all threads stand still."""
        if not self.is_frozen and monotonic() - self.turned < STALL_SECONDS:
            return
        if any(self.asked() for _ in range(1 if self.is_frozen else MAX_FAILED_TRIALS)):
            if self.is_frozen:
                log.warning("the database answers again")
            self.is_frozen = False
            self.turned = monotonic()  # threads that stay busy are no reason to connect again every second
            return
        if not self.is_frozen:
            log.error("the database is silent: requests are refused until it answers")
        self.is_frozen = True
        self.cut()


freeze_detector = FreezeDetector()
