"""A new connection to the database: its time limits, and whether statements are prepared on it.

A prepared statement belongs to one session of the server. A pooler in transaction mode gives each transaction
whichever session is free, which may lack a statement that was prepared a moment ago. A pooler is detected by the
session's process id: the one that the pooler tells the client differs from the one that the server tells.
"""

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import pq
from psycopg._preparing import Key, Prepare, PrepareManager
from psycopg._queries import PostgresQuery

from config.db import silence

log = logging.getLogger(__name__)

THRESHOLD = 5
"""How often psycopg sees a statement before it prepares it."""
SCHEMA_CHANGES = re.compile(rb"(?:CREATE|DROP|ALTER|DISCARD|DEALLOCATE)\b")
SET_UP = """
SELECT pg_backend_pid(), set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       CASE WHEN %(lock)s::text IS NOT NULL AND pg_backend_pid() = %(told)s::int
            THEN set_config('lock_timeout', %(lock)s::text, false) END
"""
"""One round trip. `told` is the process id of the session as the client was told."""
STALE = {b"0A000", b"26000"}
"""Errors of prepared statements: a migration has changed the result, or the server does not know the name."""


class KeptStatements(PrepareManager):
    """psycopg's record of the statements it has prepared on a connection, which outlives rollbacks.

    psycopg deallocates all statements of the session at each rollback, `config.db.prepared`'s too, since one may
    name a type or a table that the transaction made. Many refused requests roll back, and none makes a type: so
    statements are discarded only after a change of the schema, or after an error that was neither bad data nor a
    violated constraint.

    A statement made stale by a migration is discarded at its first error, also outside of a transaction, where
    nothing rolls back. Else a process of the previous release would fail at it until it is restarted.

    No other connection uses the same statement names: behind a pooler that does not track statements, the worst
    case is an error, and never another client's statement of the same name.
    """

    def __init__(self, database: DatabaseWrapper):
        super().__init__()
        self._database = database
        self._schema_changed = False
        self._prefix = secrets.token_hex(4)

    def get(self, query: PostgresQuery, prepare: bool | None = None) -> tuple[Prepare, bytes]:
        found, name = super().get(query, prepare)
        if found is Prepare.SHOULD:
            name = f"{self._prefix}{name.decode()}".encode()
        return found, name

    def _should_discard(self, prep: Prepare, results: Sequence[pq.abc.PGresult]) -> bool:  # type: ignore[override]
        statuses = (result.command_status or b"" for result in results)
        if any(SCHEMA_CHANGES.match(status) for status in statuses):
            self._schema_changed = True
        return super()._should_discard(prep, results)

    def maybe_add_to_cache(self, query: PostgresQuery, prep: Prepare, name: bytes) -> Key | None:
        """Have `validate` called for every statement, not only, as in psycopg, for those not prepared yet."""
        key = super().maybe_add_to_cache(query, prep, name)
        return self.key(query) if prep is Prepare.YES else key

    def validate(self, key: Key, prep: Prepare, name: bytes, results: Sequence[pq.abc.PGresult]) -> None:
        if prep is not Prepare.YES:
            super().validate(key, prep, name, results)
        elif any(result.error_field(pq.DiagnosticField.SQLSTATE) in STALE for result in results):
            self._names.pop(key, None)
            self._to_flush.append(name)

    def clear(self) -> bool:
        """Called at each rollback, and after changes of the schema."""
        if not (self._schema_changed or self._database.errors_occurred):
            return False
        self._schema_changed = False
        return super().clear()


@dataclass(slots=True)
class LockWaits:
    """Whether statements of this process wait for a lock for `LOCK_TIMEOUT` seconds at most.

    True in processes that serve requests (`config.wsgi`): each waiting request takes a thread, and its client can
    repeat the request. Workers, commands and migrations wait as long as it takes, since nobody repeats their work.
    """

    limited: bool = False


lock_waits = LockWaits()


def set_up(connection: DatabaseWrapper, **kwargs: Any) -> None:
    """Handle the signal ``connection_created``: one round trip.

    Has the database end a transaction that is idle for `TRANSACTION_IDLE_LIMIT` seconds. The database hears nothing
    of a host that froze or lost power: until TCP gives up, after hours, the rows which that host had locked would
    block all others, and the workers that take over its jobs. Our transactions wait for nothing but the database.

    Sets `LOCK_TIMEOUT` as well if this process serves requests (`LockWaits`). A pooler shares its sessions with
    workers, so a session behind one keeps the limit of its role.
    """
    link = connection.connection
    silence.known(link)
    idle = f"{settings.TRANSACTION_IDLE_LIMIT * 1000:.0f}"
    lock = f"{settings.LOCK_TIMEOUT * 1000:.0f}" if lock_waits.limited else None
    with connection.cursor() as cursor:
        cursor.execute(SET_UP, {"idle": idle, "lock": lock, "told": link.info.backend_pid})
        session = cursor.fetchone()[0]
    pooled = session != link.info.backend_pid
    prepares = settings.PREPARED_STATEMENTS
    if prepares is None:
        prepares = not pooled
        if pooled:
            log.info("A pooler is between this process and PostgreSQL: no statements are prepared.")
    link._prepared = KeptStatements(connection)
    link.prepare_threshold = THRESHOLD if prepares else None
    if pooled or not prepares:
        # a cursor of the server's belongs to one session as well
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
