"""The fields that filters accept: what each compares with, and how, as `Q`.

Column and type are read off the resource that names the field in its ``Meta.filterable``, so no second declaration
can drift from the first.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from math import isfinite
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, JSONField, Lookup, Q
from django.db.models.lookups import Contains
from django.db.models.sql.compiler import SQLCompiler
from rest_framework import serializers

from config.api import fields
from config.errors import Invalid

SECOND = timedelta(seconds=1)
NARROW = 2**31
"""The bound of numbers that fit any column that can be filtered."""
INTEGER = re.compile(r"-?[0-9]{1,20}").fullmatch


@ArrayField.register_lookup
class AnyElementContains(Lookup):
    """Whether any element of an array holds a text."""

    lookup_name = "any_contains"
    prepare_rhs = False
    template = "EXISTS (SELECT 1 FROM unnest({array}) AS item WHERE strpos(item::text, {text}::text) > 0)"

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [value]

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        array, array_params = self.process_lhs(compiler, connection)
        text, text_params = self.process_rhs(compiler, connection)
        # both parts are the compiler's, values travel as parameters
        return self.template.format(array=array, text=text), (*array_params, *text_params)


@JSONField.register_lookup
class AnyLabelContains(AnyElementContains):
    """Whether the ``label`` of any object in a JSON array holds a text."""

    template = (
        "EXISTS (SELECT 1 FROM jsonb_array_elements({array}) AS item WHERE strpos(item->>'label', {text}) > 0)"
    )


# ``region_id`` is a text that filters may search, but a ForeignKey by itself has no text lookups
ForeignKey.register_lookup(Contains)


FIELD = "X-Filter"


def refuse(reason: str) -> Invalid:
    return Invalid(reason, FIELD)


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return value


def _decimal(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    if not isfinite(value):
        raise ValueError
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    moment + SECOND  # raises at the end of time, where the range below would
    return moment.replace(microsecond=0)


def _address(value: Any) -> str:
    return str(ip_address(_text(value)))


TYPES: tuple[tuple[type[serializers.Field], Callable[[Any], Any]], ...] = (
    (serializers.DateTimeField, _moment),
    (serializers.BooleanField, _boolean),
    (serializers.IntegerField, _integer),
    (serializers.FloatField, _decimal),
    (serializers.DecimalField, _decimal),
    (serializers.IPAddressField, _address),
    (fields.CaselessField, lambda value: _text(value).lower()),
)


def _digits(text: str) -> int:
    """A number as JSON writes it: Python's own reader takes ``1_0`` and Arabic digits too."""
    if not INTEGER(text):
        raise ValueError
    return int(text)


def searched(value: Any) -> str:
    """Return the text to search for in numbers and addresses. PostgreSQL writes addresses in lower case."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _text(value).lower()


READ_SEARCHED: dict[Callable, Callable[[Any], str]] = {
    _integer: searched,
    _decimal: searched,
    _address: searched,
}
"""Readers for the value of ``+contains``, by the reader of the field. The value is a part of the field's text."""
UNSEARCHED = (_moment, _boolean)
"""Readers of fields that have no text to search."""

READ_PLAIN: dict[Callable, Callable[[str], Any]] = {
    _boolean: lambda text: {"true": True, "false": False}[text.lower()],
    _integer: _digits,
    _decimal: float,
}


@dataclass(frozen=True, slots=True)
class Filterable:
    """A field that filters accept: its ORM `path`, the check of its type, and whether it is an array.

    A field of a resource that is compared in its own way has a subclass of this as its attribute ``filterable``.
    """

    name: str
    path: str
    read: Callable[[Any], Any]
    array: bool = False

    def refused(self) -> Invalid:
        return refuse(f"{self.name} is not valid")

    def value(self, raw: Any) -> Any:
        """Check a JSON value's type."""
        try:
            return self.read(raw)
        except (ValueError, OverflowError):
            raise self.refused() from None

    def plain(self, text: str) -> Any:
        """The JSON value that a text in the query string stands for."""
        try:
            return READ_PLAIN.get(self.read, str)(text)
        except (ValueError, KeyError):
            raise self.refused() from None

    def equals(self, raw: Any) -> Q:
        if raw is None:
            return Q(**{f"{self.path}__isnull": True})
        value = self.value(raw)
        if self.array:
            return Q(**{f"{self.path}__contains": [value]})
        if isinstance(value, datetime):
            # columns keep microseconds that clients never see: a time means its whole second
            return Q(**{f"{self.path}__gte": value, f"{self.path}__lt": value + SECOND})
        return Q(**{self.path: value})

    def among(self, raws: list[Any]) -> Q:
        """Whether it equals any of the values. One condition for all: PostgreSQL looks up each row in them, where
        it would try hundreds of conditions one by one."""
        values = [self.value(raw) for raw in raws]
        # a time is a range, and Django knows only of a single number that it may be too large for its column
        apart = [raw for raw, value in zip(raws, values, strict=True) if _is_wide(value)]
        together = [value for value in values if not _is_wide(value)]
        conditions = [self.equals(raw) for raw in apart]
        if together:
            conditions.append(Q(**{f"{self.path}__{'overlap' if self.array else 'in'}": together}))
        return Q(*conditions, _connector=Q.OR)

    def searched(self, raw: Any) -> str:
        """Check and return the value of ``+contains``: a part of a text, of a number's digits, or of an address."""
        if self.read in UNSEARCHED:
            raise refuse(f"Cannot use +contains on {self.name}")
        try:
            return READ_SEARCHED.get(self.read, self.read)(raw)
        except ValueError:
            raise self.refused() from None

    def contains(self, raw: Any) -> Q:
        text = self.searched(raw)
        return Q(**{f"{self.path}__{'any_contains' if self.array else 'contains'}": text})

    def compares(self, operator: str, raw: Any) -> Q:
        if self.array or self.read is _boolean:
            raise refuse(f"Cannot use +{operator} on {self.name}")
        value = self.value(raw)
        if isinstance(value, datetime) and operator in ("gt", "lte"):
            operator, value = {"gt": "gte", "lte": "lt"}[operator], value + SECOND
        return Q(**{f"{self.path}__{operator}": value})

    def matches(self, operator: str, raw: Any) -> Q:
        """The condition for one operator, without its plus sign."""
        if operator == "neq":
            return ~self.equals(raw)
        return self.contains(raw) if operator == "contains" else self.compares(operator, raw)


def _is_wide(value: Any) -> bool:
    return isinstance(value, datetime) or (isinstance(value, int) and not -NARROW <= value < NARROW)


@dataclass(frozen=True, slots=True)
class ByLabel(Filterable):
    """An array of JSON objects, which has the value that any of them has as its ``label``."""

    array: bool = True

    def equals(self, raw: Any) -> Q:
        return Q(**{f"{self.path}__contains": [{"label": self.value(raw)}]})

    def among(self, raws: list[Any]) -> Q:
        return Q(*map(self.equals, raws), _connector=Q.OR)


SEVERAL = (serializers.ListField, serializers.DictField, serializers.JSONField, serializers.BaseSerializer)
"""Fields that hold more than one value, which have no order."""
OPERATORS = frozenset({"gt", "gte", "lt", "lte", "neq", "contains"})


def filterables(resource: serializers.Serializer, names: Iterable[str]) -> dict[str, Filterable]:
    """Read column and type of each named field (``label``, ``entity.id``) off the resource.

    An array of objects that is filtered by their labels has two names: ``interfaces`` and ``interfaces.label``.
    """
    found = [_filterable(resource, name) for name in names]
    found += [replace(each, name=f"{each.name}.label") for each in found if isinstance(each, ByLabel)]
    return {each.name: each for each in found}


def _filterable(resource: serializers.Serializer, name: str) -> Filterable:
    *outer, last = name.split(".")
    prefix = ""
    holder: Any = resource
    for part in outer:
        holder = holder.fields[part]
        prefix += "" if holder.source == "*" else fields.column_of(holder) + "__"
    child = holder.fields[last]
    path = child.columns[0] if isinstance(child, fields.Computed) else fields.column_of(child)
    if isinstance(child, fields.Annotated):
        path = f"api_{last}"
    if isinstance(child, fields.Wrapping):
        child = child.child
    kind = child.child if isinstance(child, serializers.ListField) else child
    read = next((read for base, read in TYPES if isinstance(kind, base)), _text)
    if special := getattr(child, "filterable", None):
        return special(name, prefix + path, read)
    return Filterable(name, prefix + path, read, isinstance(child, serializers.ListField))


def orderables(resource: serializers.Serializer, filtered: Mapping[str, Filterable]) -> dict[str, str | None]:
    """Return the ORM path of each field that lists can be ordered by: plain fields, and those that filters accept.

    A plain field has one value that the database knows. Lists and objects are not plain. A value that Python
    computes is plain only if the field has an `ordered_by`. A constant has no path, because it does not change the
    order.
    """
    plain = {name: _order_path(name, child) for name, child in resource.fields.items() if _is_plain(child)}
    return {**plain, **{name: each.path for name, each in filtered.items()}}


def _is_plain(child: serializers.Field) -> bool:
    if child.write_only or isinstance(child, fields.Absent):
        return False
    if isinstance(child, fields.Computed):
        return child.ordered_by is not None
    return not isinstance(child.child if isinstance(child, fields.Wrapping) else child, SEVERAL)


def _order_path(name: str, child: serializers.Field) -> str | None:
    if isinstance(child, fields.Constant):
        return None
    if isinstance(child, fields.Computed):
        return child.ordered_by
    return f"api_{name}" if isinstance(child, fields.Annotated) else fields.column_of(child)
