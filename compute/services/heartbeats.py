"""Heartbeats: processes record that they work; readers decide on the database's clock which ones are gone."""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, Value
from django.db.models.functions import Now

from accounts.services.retention import delete_in_batches
from compute.models import Heartbeat
from config.version import VERSION

log = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
"""Seconds between two heartbeats of a process."""
MAX_SILENCE = timedelta(seconds=30)
"""The time without a heartbeat after which a process counts as gone: six heartbeats are missing."""
HEARTBEAT_RETENTION = timedelta(days=1)
"""The time for which rows of processes that are gone are kept."""

_RECORD = """
INSERT INTO compute_heartbeat (id, kind, hostname, pid, version, queues, slots)
VALUES (%(id)s, %(kind)s, %(hostname)s, %(pid)s, %(version)s, %(queues)s, %(slots)s)
ON CONFLICT (id) DO UPDATE
   SET seen = statement_timestamp(), stopped = NULL, queues = excluded.queues,
       slots = excluded.slots
"""
_STOP = """
UPDATE compute_heartbeat SET seen = statement_timestamp(), stopped = statement_timestamp() WHERE id = %s
"""

CONNECT_SECONDS = 2
ANSWER_MILLISECONDS = 4000


@dataclass(frozen=True, slots=True)
class Process:
    """The identity of this process in its heartbeats. `version` is the release that it runs."""

    kind: str
    version: str
    hostname: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    id: uuid.UUID = field(default_factory=uuid.uuid4)


def record(
    process: Process, queues: Sequence[str] = (), slots: int = 0, using: BaseDatabaseWrapper | None = None
) -> None:
    """Record a heartbeat of the process. `using` is a connection.

    `queues` are those that a worker takes tasks from. `slots` is the number of tasks that it runs at the same time.
    """
    values: dict[str, Any] = {
        "id": process.id,
        "kind": process.kind,
        "hostname": process.hostname[:255],
        "pid": process.pid,
        "version": process.version[:32],
        "queues": sorted(queues),
        "slots": slots,
    }
    with (using or connection).cursor() as cursor:
        cursor.execute(_RECORD, values)


def stop(process: Process, using: BaseDatabaseWrapper | None = None) -> None:
    """Record that the process ends in order."""
    with (using or connection).cursor() as cursor:
        cursor.execute(_STOP, [process.id])


def alive() -> Q:
    """Return the condition for the rows of processes that run."""
    return Q(stopped=None, seen__gte=Now() - Value(MAX_SILENCE))


def delete_old() -> int:
    """Delete the rows of processes that are long gone, and return the number of rows."""
    return delete_in_batches(Heartbeat.objects.filter(seen__lt=Now() - Value(HEARTBEAT_RETENTION)))


@contextmanager
def own_connection() -> Iterator[BaseDatabaseWrapper]:
    """Open a connection for one statement, which gives up soon if the database does not answer.

    The thread that forks closes the connection again at once, so that no forked process of a worker inherits it.
    """
    own: BaseDatabaseWrapper = connection.copy()
    own.settings_dict["OPTIONS"] = {
        **own.settings_dict.get("OPTIONS", {}),
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": ANSWER_MILLISECONDS,
    }
    try:
        yield own
    finally:
        own.close()


class Pulse:
    """Writes the heartbeats of this process. If the database is down, the error is logged once, and writing
    continues."""

    def __init__(self, kind: str):
        self.process = Process(kind, VERSION)
        self.failing = False

    def beat(self, queues: tuple[str, ...] = (), slots: int = 0) -> None:
        self._write(lambda using: record(self.process, queues, slots, using))

    def stop(self) -> None:
        self._write(lambda using: stop(self.process, using))

    def _write(self, statement: Callable[[BaseDatabaseWrapper], None]) -> None:
        try:
            with own_connection() as using:
                statement(using)
        except Error as error:
            if not self.failing:
                log.warning("the heartbeat of this %s cannot be written: %s", self.process.kind, error)
            self.failing = True
        else:
            self.failing = False
