"""Changes to a row that other transactions may change at the same time: lock it, find the differences, write
them.
"""

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, TypeVar

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, OperationalError
from django.db.models import Model, QuerySet
from psycopg.errors import LockNotAvailable

from config.errors import Missing, Problems

M = TypeVar("M", bound=Model)


def lock(rows: QuerySet[M], *, to_delete: bool = False) -> M:
    """Lock the one row of `rows` until the transaction ends, and return its current state.

    Raises `Missing` if the row is gone. Other transactions may insert rows that refer to it, unless it is locked
    `to_delete`. Related rows are read later, by statements of their own (see docs/locking.md).
    """
    locked = rows.select_for_update(no_key=not to_delete).first()
    if locked is None:
        raise Missing
    return locked


@cache
def columns_of(model: type[Model]) -> tuple[str, ...]:
    """Return the columns of a model's table, in the order in which `Model.from_db` takes their values."""
    return tuple(field.attname for field in model._meta.concrete_fields)


def differing(row: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `values`, by attribute, that differ from the row's own values."""
    return {name: value for name, value in values.items() if getattr(row, name) != value}


def violated_constraint(error: IntegrityError) -> str:
    """Return the name of the constraint that a statement violated, or an empty text if the database named none."""
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or ""


def awaited_table(error: BaseException) -> str | None:
    """Return the table of the row whose lock did not become free within the `lock_timeout`, or None for any other
    error.

    The name is empty if PostgreSQL names no table, as for a lock that belongs to no row.
    """
    if not isinstance(error, OperationalError) or not isinstance(error.__cause__, LockNotAvailable):
        return None
    words = re.findall(r"\w+", error.__cause__.diag.context or "")
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    return next((word for word in words if word in tables), "")


def write(row: Model, values: Mapping[str, Any], *also: str) -> None:
    """Set `values` on the row, and save their columns and the columns `also`, such as ``updated``."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values, *also])


def add_failing_fields(problems: Problems, row: Model, *, but: Collection[str] = ()) -> None:
    """Add the problems that the fields of a new row find (lengths, formats, choices), except for the fields
    `but`.
    """
    try:
        row.clean_fields(exclude=set(but))
    except ValidationError as error:
        for name, messages in error.message_dict.items():
            problems.add(name, " ".join(messages))
