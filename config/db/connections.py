"""A new connection to the database: its time limits, and whether statements are prepared on it.

A prepared statement belongs to one session of the server. A pooler in transaction mode gives each transaction a
free session, which may lack a statement that was prepared a moment ago. A pooler is detected by the session's
process id: the pooler reports another id to the client than the server does.
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

from config.db import freeze_detector

log = logging.getLogger(__name__)

THRESHOLD = 5
"""The number of times that psycopg sees a statement before it prepares it."""
SCHEMA_CHANGES = re.compile(rb"(?:CREATE|DROP|ALTER|DISCARD|DEALLOCATE)\b")
SET_UP = """
SELECT pg_backend_pid(), set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       CASE WHEN %(lock)s::text IS NOT NULL AND pg_backend_pid() = %(session)s::int
            THEN set_config('lock_timeout', %(lock)s::text, false) END
"""
"""One round trip. `session` is the process id of the session that the client was given."""
STALE = {b"0A000", b"26000"}
"""Error codes of prepared statements: a migration changed the result, or the server does not know the name."""


class KeptStatements(PrepareManager):
    """psycopg's record of the statements that it has prepared on a connection. The record outlives rollbacks.

    psycopg deallocates all statements of the session at each rollback, since one may name a type or a table that
    the transaction created. This includes the statements of `config.db.prepared`. Many refused requests roll back,
    and none creates a type. So statements are discarded only after a change of the schema, or after an error other
    than bad data and a violated constraint.

    If a migration makes a statement stale, the statement is discarded at its first error, also outside of a
    transaction, where nothing rolls back. Otherwise a process of the previous release would fail at it until it is
    restarted.

    No other connection uses the same statement names. Behind a pooler that does not track statements, the worst
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
        """Return a key for every statement, so that `validate` is called for it. psycopg calls it only for new
        statements.
        """
        key = super().maybe_add_to_cache(query, prep, name)
        return self.key(query) if prep is Prepare.YES else key

    def validate(self, key: Key, prep: Prepare, name: bytes, results: Sequence[pq.abc.PGresult]) -> None:
        if prep is not Prepare.YES:
            super().validate(key, prep, name, results)
        elif any(result.error_field(pq.DiagnosticField.SQLSTATE) in STALE for result in results):
            self._names.pop(key, None)
            self._to_flush.append(name)

    def clear(self) -> bool:
        """Discard all statements if necessary. psycopg calls this at each rollback, and after changes of the
        schema.
        """
        if not (self._schema_changed or self._database.errors_occurred):
            return False
        self._schema_changed = False
        return super().clear()


@dataclass(slots=True)
class LockWaits:
    """Whether statements of this process wait for a lock for at most `LOCK_TIMEOUT` seconds.

    True in processes that serve requests (`config.wsgi`): each waiting request takes a thread, and its client can
    repeat the request. Workers, commands and migrations wait without a limit, since nobody repeats their work.
    """

    limited: bool = False


lock_waits = LockWaits()


def set_up(connection: DatabaseWrapper, **kwargs: Any) -> None:
    """Handle the signal ``connection_created``, in one round trip.

    The database ends a transaction that is idle for `TRANSACTION_IDLE_LIMIT` seconds. It does not notice a host
    that froze or lost power until TCP gives up, after hours. Until then, the rows that the host had locked would
    block all other sessions, and the workers that take over its jobs. The project's transactions wait only for the
    database.

    The function also sets `LOCK_TIMEOUT` if this process serves requests (`LockWaits`). A pooler shares its
    sessions with workers, so a session behind one keeps the limit of its role.
    """
    link = connection.connection
    freeze_detector.known(link)
    idle = f"{settings.TRANSACTION_IDLE_LIMIT * 1000:.0f}"
    lock = f"{settings.LOCK_TIMEOUT * 1000:.0f}" if lock_waits.limited else None
    with connection.cursor() as cursor:
        cursor.execute(SET_UP, {"idle": idle, "lock": lock, "session": link.info.backend_pid})
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
        # A server-side cursor belongs to one session as well.
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
