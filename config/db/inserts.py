"""INSERTs whose SQL is built once for each model, for paths where milliseconds count.

The ORM compiles each INSERT again, which takes longer than PostgreSQL takes to execute it. The fields still prepare
the values (`pre_save`, defaults, types).
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, ForeignKey, Model
from django.db.models.expressions import CombinedExpression, DatabaseDefault, Value
from django.db.models.functions import Now
from psycopg import RawCursor

from config.db.postgresql.base import DatabaseWrapper
from config.db.prepared import numbered

Row = TypeVar("Row", bound=Model)

TRANSACTION_ID = "pg_current_xact_id()"
"""Every INSERT here returns the transaction id, without a round trip of its own.

`config.db.postgresql` needs it to look up a lost COMMIT.
"""


class FromNow(CombinedExpression):
    """A time at this distance from now, by the database's clock.

    The clock of the inserting process may be wrong.
    """

    def __init__(self, distance: timedelta = timedelta(0)):
        super().__init__(Now(), "+", Value(distance))
        self.distance = distance


DEFAULT, GIVEN, FROM_NOW = "default", "given", "from now"
"""The source of a column's value: the database's default, the parameter itself, or that distance from now."""

PLAIN: tuple[tuple[set[type[Field]], type], ...] = (
    ({models.CharField, models.TextField}, str),
    (
        {
            models.AutoField, models.BigAutoField, models.SmallIntegerField, models.IntegerField,
            models.BigIntegerField, models.PositiveSmallIntegerField, models.PositiveIntegerField,
        },
        int,
    ),
    ({models.BooleanField}, bool),
)  # fmt: skip
"""Fields that store values of a type unchanged. Their subclasses may convert values."""


def insert(*rows: Row) -> tuple[Row, ...]:
    """Insert rows of one model by one statement and return them, with their keys set, as `bulk_create` would.

    Either all rows have a key, or none has, and the database assigns keys. Values are plain. The only supported
    expression is `FromNow`. Signals are not sent.
    """
    database = _database()
    statement, params = _compiled(rows, database)
    returned = _fetched(database, f"{statement}, {TRANSACTION_ID}", params)
    for row, (key, database.transaction_id) in zip(rows, returned, strict=True):
        row.pk = key
        _mark_saved(row)
    return rows


def insert_together(*rows: Model) -> None:
    """Insert rows of several models by one statement, in one round trip. The rows of one model are adjacent.

    All rows need their keys (`draw_keys`). They may refer to each other, since foreign keys are checked at commit.
    """
    database = _database()
    parts = [_compiled(tuple(group), database) for _, group in groupby(rows, type)]
    statement = _joined(tuple(statement for statement, _ in parts))
    params = [param for _, params in parts for param in params]
    ((database.transaction_id,),) = _fetched(database, statement, params)
    for row in rows:
        _mark_saved(row)


@lru_cache(maxsize=256)
def _joined(statements: tuple[str, ...]) -> str:
    inserts = ", ".join(f"w{number} AS ({statement})" for number, statement in enumerate(statements))
    return f"WITH {inserts} SELECT {TRANSACTION_ID}"


def draw_keys(*models: type[Model]) -> list[int]:
    """Return the next key of each of the models, in order.

    A model that is given twice gets two. Unused keys leave gaps.
    """
    (keys,) = _fetched(_database(), _drawing(models), [])
    return list(keys)


def _database() -> DatabaseWrapper:
    return cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS])


def _fetched(database: BaseDatabaseWrapper, statement: str, params: list[Any]) -> list[tuple[Any, ...]]:
    """Execute a statement and return all rows. Errors are Django's.

    Django's cursor is used only if queries are observed. With it, psycopg searches the SQL for placeholders each
    time if the SQL is longer than a few thousand characters. The INSERTs of a create together are that long. For
    psycopg's raw cursor, the parameters in the SQL are numbered, as for the server.
    """
    if database.queries_logged or database.execute_wrappers:
        with database.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall()
    return _fetched_raw(database, _raw(statement), params)


def _fetched_raw(database: BaseDatabaseWrapper, statement: bytes, params: list[Any]) -> list[tuple[Any, ...]]:
    database.validate_no_broken_transaction()
    database.close_if_health_check_failed()
    database.ensure_connection()
    with database.wrap_database_errors, RawCursor(database.connection) as cursor:
        cursor.execute(statement, params)
        return cursor.fetchall()


@lru_cache(maxsize=512)
def _raw(statement: str) -> bytes:
    return numbered(statement)


@lru_cache(maxsize=64)
def _drawing(models: tuple[type[Model], ...]) -> str:
    names = (f"'{model._meta.db_table}', '{model._meta.pk.column}'" for model in models)
    return "SELECT " + ", ".join(f"nextval(pg_get_serial_sequence({name}))" for name in names)


def _mark_saved(row: Model) -> None:
    row._state.adding = False
    row._state.db = DEFAULT_DB_ALIAS


def _compiled(rows: Sequence[Model], database: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """Return the statement that inserts rows of one model, and its parameters."""
    model = type(rows[0])
    keyed = rows[0].pk is not None
    fields, plain = _fields(model, keyed), _plain_types(model, keyed)
    values = [[field.pre_save(row, True) for field in fields] for row in rows]
    ways = tuple(tuple(map(_way, row)) for row in values)
    params = [
        value
        if kind and (value is None or type(value) is kind)
        else value.distance
        if type(value) is FromNow
        else field.get_db_prep_save(value, database)
        for row in values
        for field, kind, value in zip(fields, plain, row, strict=True)
        if not isinstance(value, DatabaseDefault)
    ]
    return _statement(model, keyed, ways), params


def _way(value: Any) -> str:
    if isinstance(value, DatabaseDefault):
        return DEFAULT
    return FROM_NOW if type(value) is FromNow else GIVEN


@lru_cache(maxsize=256)
def _fields(model: type[Model], keyed: bool) -> tuple[Field, ...]:
    return tuple(field for field in model._meta.concrete_fields if keyed or not field.primary_key)


@lru_cache(maxsize=256)
def _plain_types(model: type[Model], keyed: bool) -> tuple[type | None, ...]:
    """Return for each field the type of the values that it stores unchanged, or None if it converts all values."""
    return tuple(map(_plain_type, _fields(model, keyed)))


def _plain_type(field: Field) -> type | None:
    while isinstance(field, ForeignKey):
        field = field.target_field
    return next((kind for base, kind in PLAIN if type(field) in base), None)


@lru_cache(maxsize=256)
def _statement(model: type[Model], keyed: bool, ways: tuple[tuple[str, ...], ...]) -> str:
    """Return the INSERT for the rows of `ways`, which names the source of each value."""
    fields = _fields(model, keyed)
    quote = connection.ops.quote_name
    columns = ", ".join(quote(_column(field)) for field in fields)
    rows = ", ".join(
        f"({', '.join(_placeholder(field, way) for field, way in zip(fields, row, strict=True))})" for row in ways
    )
    table, key = quote(model._meta.db_table), quote(_column(model._meta.pk))
    return f"INSERT INTO {table} ({columns}) VALUES {rows} RETURNING {key}"  # noqa: S608 - the model's own names


def _column(field: Field) -> str:
    return cast(str, field.column)  # the stubs allow None, for fields without one; a concrete field has one


def _placeholder(field: Field, way: str) -> str:
    """Return ``%s``, with a cast for the types (arrays) that PostgreSQL does not infer from the column."""
    if way == DEFAULT:
        return "DEFAULT"
    if way == FROM_NOW:
        return "statement_timestamp() + %s::interval"
    if hasattr(field, "get_placeholder"):
        return field.get_placeholder(None, None, connection)
    return "%s"
