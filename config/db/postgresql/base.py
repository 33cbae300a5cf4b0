"""Django's backend for PostgreSQL, with a rule for lost connections (docs/decisions/lost-connections.md).

**Before a transaction begins, a connection that has ended is replaced.** Threads keep their connections for life.
PostgreSQL, a proxy or a restart may end one while it is idle. Without this rule, the first statement on it fails.
"""

import select

import psycopg
from django.db.backends.postgresql import base
from psycopg import pq


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of one thread."""

    def get_new_connection(self, conn_params: dict[str, object]) -> psycopg.Connection:
        link: psycopg.Connection = super().get_new_connection(conn_params)
        self._socket = select.poll()
        self._socket.register(link.pgconn.socket, select.POLLIN)
        return link

    def close_if_health_check_failed(self) -> None:
        """Close a connection that has ended, so that Django connects again. Costs no round trip.

        Django calls this method before each statement and before each transaction. Within a transaction a new
        connection would not help: the earlier statements are lost too.
        """
        if self.connection is not None and self.autocommit and not self.in_atomic_block and self._has_ended():
            self.close()

    def _has_ended(self) -> bool:
        """Whether the connection is closed, or bytes are waiting on it although no statement runs.

        PostgreSQL sends an idle connection nothing but the reason for its end, and settings that were reloaded.
        Both times a new connection is right. In a pipeline the status is not IDLE, and the bytes are results.
        """
        status = self.connection.pgconn.transaction_status
        return status == pq.TransactionStatus.UNKNOWN or (
            status == pq.TransactionStatus.IDLE and bool(self._socket.poll(0))
        )
