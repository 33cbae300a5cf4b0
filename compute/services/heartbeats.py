"""Heartbeats: processes record that they work; readers decide on the database's clock which ones are gone."""

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, Value
from django.db.models.functions import Now

from accounts.services.retention import delete_in_batches
from compute.models import Heartbeat

EVERY = 5.0
"""Seconds between two heartbeats of a process."""
SILENCE = timedelta(seconds=30)
"""The time without a heartbeat after which a process counts as gone: six were missed."""
KEPT = timedelta(days=1)
"""How long the rows of processes that are gone are kept."""

_RECORD = """
INSERT INTO compute_heartbeat (id, kind, hostname, pid, version, queues)
VALUES (%(id)s, %(kind)s, %(hostname)s, %(pid)s, %(version)s, %(queues)s)
ON CONFLICT (id) DO UPDATE
   SET seen = statement_timestamp(), stopped = NULL, queues = excluded.queues
"""
_STOP = """
UPDATE compute_heartbeat SET seen = statement_timestamp(), stopped = statement_timestamp() WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class Process:
    """This process, as its heartbeats name it. `version` is that of the release it runs."""

    kind: str
    version: str
    hostname: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    id: uuid.UUID = field(default_factory=uuid.uuid4)


def record(process: Process, queues: Sequence[str] = (), using: BaseDatabaseWrapper | None = None) -> None:
    """Record a heartbeat of the process, and the queues that it takes tasks from. `using` is a connection."""
    values: dict[str, Any] = {
        "id": process.id,
        "kind": process.kind,
        "hostname": process.hostname[:255],
        "pid": process.pid,
        "version": process.version[:32],
        "queues": sorted(queues),
    }
    with (using or connection).cursor() as cursor:
        cursor.execute(_RECORD, values)


def stop(process: Process, using: BaseDatabaseWrapper | None = None) -> None:
    """Record that the process ends in order."""
    with (using or connection).cursor() as cursor:
        cursor.execute(_STOP, [process.id])


def alive() -> Q:
    """The condition for the rows of processes that run."""
    return Q(stopped=None, seen__gte=Now() - Value(SILENCE))


def delete_old() -> int:
    """Delete the rows of processes that are long gone, and return how many."""
    return delete_in_batches(Heartbeat.objects.filter(seen__lt=Now() - Value(KEPT)))
