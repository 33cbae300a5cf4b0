"""INSERTs whose SQL is built once for each model, for paths where milliseconds count.

The ORM compiles each INSERT anew, which takes longer than PostgreSQL takes to execute it. The fields still prepare
the values (`pre_save`, defaults, types).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeVar, cast

from django.db import connection
from django.db.models import Field, Model
from django.db.models.expressions import DatabaseDefault

Row = TypeVar("Row", bound=Model)


def insert(*rows: Row) -> tuple[Row, ...]:
    """Insert rows of one model by one statement and return them, with their keys set, as `bulk_create` would.

    Either all rows have a key, or none has, and the database assigns keys. Values are plain: expressions are not
    supported. Signals are not sent.
    """
    statement, params = _compiled(rows)
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        keys = cursor.fetchall()
    for row, (key,) in zip(rows, keys, strict=True):
        row.pk = key
        _mark_saved(row)
    return rows


def insert_together(*rows: Model) -> None:
    """Insert rows of several models, with the rows of one model side by side, by one statement: one round trip.

    All rows need their keys (`draw_keys`). They may refer to each other, since foreign keys are checked at commit.
    """
    parts = [_compiled(tuple(group)) for _, group in groupby(rows, type)]
    inserts = ", ".join(f"w{number} AS ({statement})" for number, (statement, _) in enumerate(parts))
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {inserts} SELECT 1", [param for _, params in parts for param in params])
    for row in rows:
        _mark_saved(row)


def draw_keys(*models: type[Model]) -> list[int]:
    """The next key of each of the models, in order; a model named twice gets two. Unused keys leave gaps."""
    with connection.cursor() as cursor:
        cursor.execute(_drawing(models))
        return list(cursor.fetchone())


@lru_cache(maxsize=64)
def _drawing(models: tuple[type[Model], ...]) -> str:
    names = (f"'{model._meta.db_table}', '{model._meta.pk.column}'" for model in models)
    return "SELECT " + ", ".join(f"nextval(pg_get_serial_sequence({name}))" for name in names)


def _mark_saved(row: Model) -> None:
    row._state.adding = False
    row._state.db = connection.alias


def _compiled(rows: Sequence[Model]) -> tuple[str, list[Any]]:
    """The statement that inserts rows of one model, and its parameters."""
    model = type(rows[0])
    keyed = rows[0].pk is not None
    fields = _fields(model, keyed)
    values = [[field.pre_save(row, True) for field in fields] for row in rows]
    given = tuple(tuple(not isinstance(value, DatabaseDefault) for value in row) for row in values)
    params = [
        field.get_db_prep_save(value, connection)
        for row in values
        for field, value in zip(fields, row, strict=True)
        if not isinstance(value, DatabaseDefault)
    ]
    return _statement(model, keyed, given), params


@lru_cache(maxsize=256)
def _fields(model: type[Model], keyed: bool) -> tuple[Field, ...]:
    return tuple(field for field in model._meta.concrete_fields if keyed or not field.primary_key)


@lru_cache(maxsize=256)
def _statement(model: type[Model], keyed: bool, given: tuple[tuple[bool, ...], ...]) -> str:
    """The INSERT for as many rows as `given` has, with DEFAULT for each column without a value."""
    fields = _fields(model, keyed)
    quote = connection.ops.quote_name
    columns = ", ".join(quote(_column(field)) for field in fields)
    rows = ", ".join(
        "("
        + ", ".join(_placeholder(field) if there else "DEFAULT" for field, there in zip(fields, row, strict=True))
        + ")"
        for row in given
    )
    table, key = quote(model._meta.db_table), quote(_column(model._meta.pk))
    return f"INSERT INTO {table} ({columns}) VALUES {rows} RETURNING {key}"  # noqa: S608 - the model's own names


def _column(field: Field) -> str:
    return cast(str, field.column)  # the stubs allow None, for fields without one; a concrete field has one


def _placeholder(field: Field) -> str:
    """``%s``, with a cast for the types (arrays) that PostgreSQL does not infer from the column."""
    if hasattr(field, "get_placeholder"):
        return field.get_placeholder(None, None, connection)
    return "%s"
