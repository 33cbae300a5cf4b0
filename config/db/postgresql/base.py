"""Django's backend for PostgreSQL, with two rules for lost connections (docs/decisions/lost-connections.md).

**Before a transaction begins, a connection that has ended is replaced.** Threads keep their connections for life.
PostgreSQL, a proxy or a restart may end one while it is idle. Without this rule, the first statement on it fails.

**After a lost COMMIT, the database reports the outcome.** If the connection is lost while a transaction commits,
the change may or may not have been made. The answer to the client must be true in both cases.
"""

import logging
import select

import psycopg
from django.db import Error, InterfaceError, OperationalError, connection
from django.db.backends.postgresql import base
from psycopg import pq

from config.db.freeze_detector import freeze_detector

log = logging.getLogger(__name__)

END_WAIT_MS = 5000
"""Milliseconds to wait until the session of the lost connection has ended."""
END_SESSION = """
SELECT pg_terminate_backend(pid, %s)
  FROM pg_stat_activity
 WHERE backend_xid = %s::xid8::xid AND datname = current_database()
"""
STATUS = "SELECT pg_xact_status(%s::xid8)"


class CommitUnknown(OperationalError):
    """The connection was lost during COMMIT, and the database cannot say whether the change was made."""


def client_error(error: Exception) -> Exception:
    """Return the error that the client is shown.

    A request may fail after its commit, while its answer is read. Such an error of the database says nothing about
    the change, which was made. It becomes a `CommitUnknown`.
    """
    if isinstance(error, OperationalError | InterfaceError) and connection.committed:  # type: ignore[attr-defined]
        return CommitUnknown(str(error))
    return error


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL, which one thread uses."""

    transaction_id: str | None = None
    """The id of the current transaction (``xid8``), once a statement has returned it (`config.db.inserts`).

    None if no statement did, and between transactions.
    """
    committed = False
    """Whether a transaction was committed since the last request ended (`config.apps`)."""

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
        """Tell whether the connection is closed, or bytes are waiting on it although no statement runs.

        PostgreSQL sends an idle connection only the reason for its end, and settings that were reloaded. In both
        cases a new connection is right. In a pipeline the status is not IDLE, and the bytes are results.
        """
        status = self.connection.pgconn.transaction_status
        return status == pq.TransactionStatus.UNKNOWN or (
            status == pq.TransactionStatus.IDLE and bool(self._socket.poll(0))
        )

    def _set_autocommit(self, autocommit: bool) -> None:
        self.transaction_id = None
        super()._set_autocommit(autocommit)  # type: ignore[misc] # Django's own, which the stubs leave out

    def _commit(self) -> None:
        """Commit. If the connection is lost meanwhile, connect again and ask whether the transaction committed.

        Returns if the transaction committed, so that the caller goes on and ``on_commit`` hooks run. Raises
        Django's error if it was rolled back, and `CommitUnknown` if the database cannot be asked or does not know.
        """
        transaction_id, self.transaction_id = self.transaction_id, None
        try:
            super()._commit()  # type: ignore[misc] # as above
            self.committed = True
        except (OperationalError, InterfaceError) as error:
            if not self.connection.closed:
                raise
            hooks = self.run_on_commit  # a new connection forgets them
            status = self._status_of(transaction_id)
            log.warning("The connection was lost during COMMIT. Transaction %s: %s.", transaction_id, status)
            if status == "aborted":
                raise
            if status != "committed":
                self.close()
                # Otherwise Django connects at the end of the transaction, and an error there hides this one.
                self.closed_in_transaction = True
                raise CommitUnknown(str(error)) from error
            self.run_on_commit = hooks
            self.committed = True

    def _status_of(self, transaction_id: str | None) -> str | None:
        """Return the status of a transaction of a lost connection: ``committed``, ``aborted``, or None if unknown.

        The transaction's session may not have noticed yet that the connection is lost. This method ends the session
        first. Otherwise the transaction could still commit after the answer.
        """
        self.close()
        if transaction_id is None or freeze_detector.is_frozen:
            return None
        try:
            with self.cursor() as cursor:
                cursor.execute(END_SESSION, [END_WAIT_MS, transaction_id])
                cursor.execute(STATUS, [transaction_id])
                (status,) = cursor.fetchone()
        except Error as error:
            log.warning("The database cannot be asked about transaction %s: %s", transaction_id, error)
            return None
        return None if status == "in progress" else status
