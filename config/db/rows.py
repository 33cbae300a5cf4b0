"""Changing a row that others may be changing at the same moment: hold it, find the differences, write those."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

from config.errors import Missing, Problems

M = TypeVar("M", bound=Model)


def lock(rows: QuerySet[M], *, to_delete: bool = False) -> M:
    """The one row of `rows`, locked until the transaction ends and as it is now. Raises `Missing` where it is gone.

    Rows that refer to it may be inserted meanwhile, unless it is held `to_delete` it. What is joined to it by
    `select_related` is read along, not locked.
    """
    locked = rows.select_for_update(of=("self",), no_key=not to_delete).first()
    if locked is None:
        raise Missing
    return locked


def differing(row: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values, by attribute, that the row does not have yet."""
    return {name: value for name, value in values.items() if getattr(row, name) != value}


def write(row: Model, values: Mapping[str, Any], *also: str) -> None:
    """Set the values and save them, and the columns `also`, such as ``updated``."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values, *also])


def add_failing_fields(problems: Problems, row: Model, *, but: Collection[str] = ()) -> None:
    """Note the problems that the fields of a new row find (lengths, forms, choices), all fields `but` some."""
    try:
        row.clean_fields(exclude=set(but))
    except ValidationError as error:
        for name, messages in error.message_dict.items():
            problems.add(name, " ".join(messages))
