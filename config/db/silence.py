"""Notice, in a process that serves, that the database has fallen silent: frozen, and not gone.

A database that is gone refuses connections, and statements fail. One whose processes or machine stand still refuses
nothing: a statement waits for its answer as long as that lasts, and with it the one thread that answers requests.
So a thread beside it sees that the event loop stands still, or that none of the threads is free in which a process
answers (`Silence.pools`), asks the database for a connection, and where none is given in time cuts off what they
wait for. From then on requests are refused at once, until a connection is given. A long statement alone cuts off
nothing, nor does a database that refuses.
"""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from time import monotonic
from weakref import WeakSet

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks at the loop, and between two questions while the database is silent."""
STILL = 5.0
"""Seconds for which the loop, or all threads, may stand still before the database is asked; longer than `EVERY`."""
WITHIN = 5
"""Seconds in which the database has to give a connection."""

_open: "WeakSet[psycopg.Connection]" = WeakSet()
"""The connections of this process to the database, those of Django."""
_reading = threading.Lock()
"""Another thread may add a connection while they are read, which a set does not allow."""


def known(link: psycopg.Connection) -> None:
    """Note a new connection, to be cut off where the database falls silent."""
    with _reading:
        _open.add(link)


def answers() -> bool:
    """Whether the database gives a connection in time, or at least says that it gives none."""
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    parameters.pop("assume_role", None)
    try:
        psycopg.connect(**{**parameters, "connect_timeout": WITHIN}).close()
    except psycopg.errors.ConnectionTimeout:
        return False
    except psycopg.Error:
        return True
    return True


def cut_off() -> None:
    """End the connections of this process, as if the other end had: statements under way fail as of a lost one."""
    with _reading:
        links = list(_open)
    for link in links:
        try:
            # a descriptor of our own: the connection's stays with libpq, which closes it
            with socket.socket(fileno=os.dup(link.fileno())) as own:
                own.shutdown(socket.SHUT_RDWR)
        except (psycopg.Error, OSError):  # it is closed already
            continue


class Silence:
    """Watches the loop of a process that serves (`config.server.periodic.Beside`).

    `noted` is whether the database is silent, as far as is known.
    """

    def __init__(self, asked: Callable[[], bool] = answers, cut: Callable[[], None] = cut_off):
        self.asked, self.cut = asked, cut
        self.noted = False
        self.pools: list[Executor] = []
        """Threads in which this process answers: without a free one nobody is answered, though the loop turns."""
        self.turned = 0.0
        self.turning = False
        self.ended = threading.Event()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.turned = monotonic()
        threading.Thread(target=self._watch, args=(loop,), name="silence", daemon=True).start()

    def stop(self) -> None:
        self.ended.set()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self.ended.wait(EVERY):
            try:
                self.look()
            except Exception:
                log.exception("it cannot be told whether the database answers")
            if self.turning:
                continue
            self.turning = True
            try:
                loop.call_soon_threadsafe(self._turn, self.pools)
            except RuntimeError:  # the loop is closed: the process ends
                return

    def _turn(self, pools: Sequence[Executor]) -> None:
        """Called on the loop, and then in a thread of each pool: at the end all of them have turned."""
        if pools:
            pools[0].submit(self._turn, pools[1:])
            return
        self.turned, self.turning = monotonic(), False

    def look(self) -> None:
        """Ask the database where it is silent, or may be since the loop or all threads stand still."""
        if not self.noted and monotonic() - self.turned < STILL:
            return
        if self.asked():
            if self.noted:
                log.warning("the database answers again")
            self.noted = False
            return
        if not self.noted:
            log.error("the database is silent: requests are refused until it answers")
        self.noted = True
        self.cut()


silence = Silence()
