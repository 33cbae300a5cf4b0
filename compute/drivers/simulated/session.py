"""The simulated hypervisor's own connection to PostgreSQL, and the creation of its schema."""

import hashlib
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row

FILES = Path(__file__).with_name("sql")
PARTS = ("tables", "answers", "machines", "disks", "volumes", "archives", "inventory")
"""The schema's files in the order of their loading: a function in plain SQL may call only those before it."""
SCHEMA = "\n".join((FILES / f"{part}.sql").read_text() for part in PARTS)
VERSION = hashlib.sha256(SCHEMA.encode()).hexdigest()
# Any number will do, as long as nothing else in the database takes this advisory lock.
INSTALL_LOCK = 0x5157_1A7E

log = logging.getLogger(__name__)


class Session:
    """One lazily opened autocommit connection per process.

    After a fork, the child opens its own connection. If the connection is lost, the query is sent once more. This
    is harmless, because every call of a driver is idempotent. `timeout`, in seconds, limits a query, a connect and
    the second query together. Raises `psycopg.Error`.
    """

    def __init__(self, conninfo: str, timeout: float):
        self.conninfo = conninfo
        self.timeout = timeout
        self._connection: psycopg.Connection | None = None
        self._inherited: psycopg.Connection | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def execute(self, query: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """The rows of one query, as named tuples; none for a query that returns no rows."""
        self._notice_fork()
        with self._lock:
            connection = self._open()
            try:
                return self._rows(connection, query, params)
            except psycopg.OperationalError:
                # after a timeout or a deadlock the connection is usable, and the caller gets the error
                if not connection.closed:
                    raise
                log.info("The connection to the simulated hypervisor was lost; connecting again.")
                return self._rows(self._open(), query, params)

    def close(self) -> None:
        """Close the connection. The next query opens another."""
        self._notice_fork()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _notice_fork(self) -> None:
        if self._pid == os.getpid():
            return
        # The parent's connection is kept but never used: closing it here would end the parent's session. The lock
        # is new, because another thread of the parent may have locked the old one.
        self._inherited, self._connection = self._connection, None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def _open(self) -> psycopg.Connection:
        if self._connection is not None and self._connection.info.transaction_status != TransactionStatus.IDLE:
            # the time limit of a task interrupted the last query, and this connection cannot send another one
            self._connection.close()
        if self._connection is None or self._connection.closed:
            connection = psycopg.connect(
                self.conninfo,
                autocommit=True,
                connect_timeout=max(2, round(self.timeout / 4)),
                application_name="skerry-simulated-hypervisor",
                row_factory=namedtuple_row,
            )
            try:
                self._prepare(connection)
            except psycopg.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: psycopg.Connection) -> None:
        # Killing our processes loses nothing. A crash of the database server may lose the last half second.
        row = connection.execute(
            "SELECT obj_description(to_regnamespace('simulated'), 'pg_namespace'),"
            " set_config('synchronous_commit', 'off', false) AS commit,"
            " set_config('statement_timeout', %s, false) AS timeout",
            (str(round(self.timeout / 4 * 1000)),),
        ).fetchone()
        if row is None or row[0] != VERSION:
            install(connection)

    @staticmethod
    def _rows(connection: psycopg.Connection, query: str, params: Sequence[Any] | dict[str, Any]) -> list[Any]:
        cursor = connection.execute(query, params, prepare=True)
        return cursor.fetchall() if cursor.description else []


def install(connection: psycopg.Connection) -> None:
    """Create or replace the schema. Of processes that start at once, one does it, and the others find it
    current."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (INSTALL_LOCK,))
        # Read from the table: `to_regnamespace` may still answer from a cache that is older than the lock.
        row = connection.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'simulated'"
        ).fetchone()
        if row and row[0] == VERSION:
            return
        connection.execute("SET LOCAL client_min_messages = warning")
        connection.execute(SCHEMA)
        connection.execute(f"COMMENT ON SCHEMA simulated IS '{VERSION}'")
