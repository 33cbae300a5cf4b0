"""Prepared statements on the connection itself, for the few queries that every request makes.

psycopg's cursors are general: they adapt each parameter, decide whether to prepare, and wait in generators. This
takes longer than a small query itself. A statement that the kit compiles once is one SELECT with numbers and texts
as parameters. So it is prepared once for each connection and then only executed.

A statement's name is a hash of its SQL, so the name is unique on every session of the server. The name does not
include the types of parameters: the server infers them from the SQL alone.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import abc, pq
from psycopg.adapt import Loader, Transformer
from psycopg.types.net import InetBinaryLoader

from config.db import timing
from config.db.freeze_detector import freeze_detector

Rows = list[tuple[Any, ...]]
_LIMIT = "SELECT set_config('statement_timeout', %s, true)"
_NO_LIMIT = "SET LOCAL statement_timeout TO DEFAULT"

PLACEHOLDER = re.compile("%(.)")
STALE = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.FeatureNotSupported)
PLAIN = (int, str, bool, type(None))
"""The types of parameters that a prepared statement accepts."""


class TookTooLong(Exception):
    """The database ended a statement that exceeded its time limit."""


class _RawJSON(Loader):
    """Loads JSON as text. `config.api.rendering` parses it."""

    format = pq.Format.BINARY

    def load(self, data: abc.Buffer) -> str:
        return bytes(data).decode()


class _RawJSONB(Loader):
    """Loads JSONB as text, without the leading version number of the format."""

    format = pq.Format.BINARY

    def load(self, data: abc.Buffer) -> str:
        return bytes(data)[1:].decode()


class _AddressText(InetBinaryLoader):
    """Loads an address as text, as Django does."""

    def load(self, data: abc.Buffer) -> str:  # type: ignore[override] # the point of it
        return str(super().load(data))


def numbered(sql: str) -> bytes:
    """Return the SQL with PostgreSQL's ``$1``, ``$2`` … in place of Django's ``%s``."""
    count = 0

    def replace(match: re.Match) -> str:
        nonlocal count
        if match[1] == "%":
            return "%"
        count += 1
        return f"${count}"

    return PLACEHOLDER.sub(replace, sql).encode()


def dumped(value: Any) -> bytes | None:
    """Return a parameter in PostgreSQL's text format. The server knows its type from the statement."""
    if value is None:
        return None
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()


def name_of(sql: str) -> bytes:
    """Return the statement's name on the server. PostgreSQL truncates names to 63 bytes."""
    return b"api_" + hashlib.sha256(sql.encode()).hexdigest()[:40].encode()


class Link:
    """The statements prepared on one connection, each with the reader of its rows."""

    def __init__(self, connection: psycopg.Connection):
        self.connection = connection
        self.prepares = connection.prepare_threshold is not None
        """False behind a pooler, or if PREPARED_STATEMENTS is off (`config.db.connections`)."""
        self.context = connection.cursor(binary=True)
        for name, loader in (("json", _RawJSON), ("jsonb", _RawJSONB), ("inet", _AddressText)):
            self.context.adapters.register_loader(name, loader)
        self.statements: dict[str, tuple[bytes, abc.Transformer]] = {}
        """For each SQL: its name on the connection and the reader of its rows."""

    def fetch(self, sql: str, parameters: Sequence[Any]) -> Rows:
        """Run a SELECT and return all rows. Raises psycopg's errors. The connection must be in autocommit."""
        values = [dumped(value) for value in parameters]
        try:
            return self.execute(sql, values)
        except STALE:
            # The server dropped the statement, or a migration changed its tables: prepare it again.
            self.forget(sql)
            return self.execute(sql, values)

    def execute(self, sql: str, values: Sequence[bytes | None]) -> Rows:
        name, reader = self.statements.get(sql) or self.prepare(sql)
        # psycopg's signature does not allow None among the values, but its code does.
        result = self.connection.pgconn.exec_prepared(name, values, None, pq.Format.BINARY)  # type: ignore[arg-type]
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise self.error_of(result)
        # The types of the columns are looked up for the first result and kept.
        reader.set_pgresult(result, set_loaders=reader.pgresult is None)
        return reader.load_rows(0, result.ntuples, tuple)

    def prepare(self, sql: str) -> tuple[bytes, abc.Transformer]:
        name = name_of(sql)
        result = self.connection.pgconn.prepare(name, numbered(sql))
        if result.status != pq.ExecStatus.COMMAND_OK:
            error = self.error_of(result)
            # The pooler's session already has this prepared statement.
            if not isinstance(error, psycopg.errors.DuplicatePreparedStatement):
                raise error
        known = self.statements[sql] = name, Transformer(self.context)
        return known

    def forget(self, sql: str) -> None:
        """Drop a statement here and on the server. It is no error if the server has none of this name."""
        self.statements.pop(sql, None)
        self.connection.pgconn.close_prepared(name_of(sql))

    def error_of(self, result: pq.abc.PGresult) -> psycopg.Error:
        """Return the error of a failed statement.

        An error without a code comes from libpq: the connection is lost. It is closed here, since libpq does not
        report the loss after a failed write.
        """
        lost = self.connection.pgconn.status == pq.ConnStatus.BAD
        if lost or not result.error_field(pq.DiagnosticField.SQLSTATE):
            self.connection.close()
            return psycopg.OperationalError(result.get_error_message())
        return psycopg.errors.error_from_result(result)


class _Links(threading.local):
    """Each thread's link, for as long as the thread's connection lasts."""

    link: Link | None = None

    def of(self, connection: psycopg.Connection) -> Link:
        link = self.link
        if link is None or link.connection is not connection:
            link = self.link = Link(connection)
        return link


_links = _Links()


def fetch(sql: str, parameters: Sequence[Any]) -> Rows:
    """Run a SELECT with ``%s`` for numbers and texts, and return all rows. Errors are Django's.

    The function uses Django's cursor within a transaction, if queries are observed (query logs of tests,
    ``connection.execute_wrapper``), and if no statements are prepared. Outside of a transaction, the SELECT is
    retried after a restart of the database.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if not database.autocommit or timing.observed(database):
        return fetch_ordinarily(sql, parameters)

    def run() -> Rows:
        if database.connection is None:
            database.ensure_connection()
        with database.wrap_database_errors:  # the connection may be closed
            link = _links.of(database.connection)
        if not link.prepares:
            return _through_cursor(database, sql, parameters)
        with database.wrap_database_errors:
            if not database.execute_wrappers:
                return link.fetch(sql, parameters)
            with timing.statement():
                return link.fetch(sql, parameters)

    return _again_if_lost(database, run)


def fetch_ordinarily(sql: str, parameters: Sequence[Any], within: float | None = None) -> Rows:
    """Run any SELECT through Django's cursor and return all rows. A lost connection is replaced, as in `fetch`.

    If the statement takes longer than `within` seconds, the database ends it, and `TookTooLong` is raised.
    """
    database = connections[DEFAULT_DB_ALIAS]

    def run() -> Rows:
        if within is None:
            return _through_cursor(database, sql, parameters)
        database.close_if_health_check_failed()
        database.ensure_connection()
        with _ending_after(database, within):
            return _through_cursor(database, sql, parameters)

    return _again_if_lost(database, run)


@contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """Make the database end each statement of the block that takes longer, with `TookTooLong`.

    It is for several statements of the ORM. It opens a transaction, and so costs more round trips than
    `fetch_ordinarily`.
    """
    database = connections[DEFAULT_DB_ALIAS]
    with transaction.atomic(), _ending_after(database, seconds):
        yield


@contextmanager
def _ending_after(database: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Set the time limit for the rest of the transaction, and reset it at the end of the block.

    Outside of a transaction the block may run one statement. In libpq's pipeline the limit and the statement are
    one round trip and one transaction, and the limit ends with it. So no session keeps the limit, and it does not
    matter which session a pooler provides.
    """
    link, limit = database.connection, f"{max(1, seconds * 1000):.0f}"  # milliseconds; 0 would be no limit
    try:
        if database.in_atomic_block or not database.autocommit:
            with database.wrap_database_errors:  # the connection may be lost at any of the statements
                link.execute(_LIMIT, [limit])
                yield
                link.execute(_NO_LIMIT)
        else:
            with database.wrap_database_errors, link.pipeline():
                link.execute(_LIMIT, [limit])
                yield
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise TookTooLong from error
        raise


def _through_cursor(database: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> Rows:
    with database.cursor() as cursor:
        cursor.execute(sql, parameters)
        with timing.statement():  # in a pipeline the rows are waited for here
            return cursor.fetchall()


def _again_if_lost(database: BaseDatabaseWrapper, run: Callable[[], Rows]) -> Rows:
    """Call `run`, and retry it on a new connection if the old one was lost: processes keep connections for life.

    The call is not retried within a transaction, which loses more than this SELECT. It is not retried either if no
    connection could be made at all, or if the database is silent.
    """
    try:
        return run()
    except OperationalError:
        lost = database.connection is not None and database.connection.closed
        if not lost or database.in_atomic_block or freeze_detector.is_frozen:
            raise
        database.close()
        return run()
