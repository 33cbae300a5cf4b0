"""A new connection to the database: its limit on idle transactions, and whether statements are prepared on it.

A prepared statement belongs to one session of the server. A pooler in transaction mode gives each transaction
whichever session is free, so that a statement is not there that was prepared a moment ago. Poolers show by the
process id of the session: a client is told one by the pooler, and another by the server.
"""

import logging
import secrets
from typing import Any

from django.conf import settings
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg._preparing import Prepare, PrepareManager
from psycopg._queries import PostgresQuery

log = logging.getLogger(__name__)

THRESHOLD = 5
"""How often psycopg sees a statement before it prepares it."""


class KeptStatements(PrepareManager):
    """psycopg's record of the statements it has prepared on a connection.

    No other connection has the same names: behind a pooler that keeps no track of statements, an error is the worst
    that happens, and never another client's statement of the same name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._prefix = secrets.token_hex(4)

    def get(self, query: PostgresQuery, prepare: bool | None = None) -> tuple[Prepare, bytes]:
        found, name = super().get(query, prepare)
        if found is Prepare.SHOULD:
            name = f"{self._prefix}{name.decode()}".encode()
        return found, name


def set_up(connection: DatabaseWrapper, **kwargs: Any) -> None:
    """Handle the signal ``connection_created``: one round trip.

    The database is to end a transaction that does nothing for `TRANSACTION_IDLE_LIMIT` seconds. Of a host that
    froze or lost power it hears nothing more: until TCP gives up, after hours, the rows which that host had locked
    would hold up all others, and whoever takes over its jobs. Our transactions wait for nothing but the database.
    """
    idle = f"{settings.TRANSACTION_IDLE_LIMIT * 1000:.0f}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, false), pg_backend_pid()", [idle]
        )
        session = cursor.fetchone()[1]
    link = connection.connection
    pooled = session != link.info.backend_pid
    prepares = settings.PREPARED_STATEMENTS
    if prepares is None:
        prepares = not pooled
        if pooled:
            log.info("A pooler is between this process and PostgreSQL: no statements are prepared.")
    link._prepared = KeptStatements()
    link.prepare_threshold = THRESHOLD if prepares else None
    if pooled or not prepares:
        # a cursor of the server's belongs to one session as well
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
