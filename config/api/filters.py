"""Collection filters: the ``X-Filter`` language and plain query parameters, compiled to `Q`.

A filter is a JSON object. A bare value means equality; ``{"+gt": 3}`` inside a field uses an operator; ``+and``
and ``+or`` take arrays of filters; ``+order_by`` names a filterable field and ``+order`` is ``asc`` or
``desc``. What a resource lets be filtered is its ``Meta.filterable``: column and type come from its fields, so
no second declaration can drift from the first.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from ipaddress import ip_address
from math import isfinite
from operator import and_, or_
from typing import Any

import orjson
from django.contrib.postgres.fields import ArrayField
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, Lookup, Q
from django.db.models.lookups import Contains
from django.db.models.sql.compiler import SQLCompiler
from django.http import QueryDict
from rest_framework import serializers

from config.api import fields
from config.errors import Invalid

FIELD = "X-Filter"
DEEPEST = 20
MOST_CONDITIONS = 200
SECOND = timedelta(seconds=1)
INTEGER = re.compile(r"-?[0-9]{1,20}").fullmatch


@ArrayField.register_lookup
class AnyElementContains(Lookup):
    """Whether any element of an array holds a text."""

    lookup_name = "any_contains"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [value]

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        array, array_params = self.process_lhs(compiler, connection)
        text, text_params = self.process_rhs(compiler, connection)
        # both parts are the compiler's, values travel as parameters
        sql = f"EXISTS (SELECT 1 FROM unnest({array}) AS item WHERE strpos(item::text, {text}::text) > 0)"  # noqa: S608
        return sql, (*array_params, *text_params)


# ``region_id`` is a text that filters may search, but a ForeignKey by itself has no text lookups
ForeignKey.register_lookup(Contains)


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
)


def _digits(text: str) -> int:
    """A number as JSON writes it: Python's own reader takes ``1_0`` and Arabic digits too."""
    if not INTEGER(text):
        raise ValueError
    return int(text)


READ_PLAIN: dict[Callable, Callable[[str], Any]] = {
    _boolean: lambda text: {"true": True, "false": False}[text.lower()],
    _integer: _digits,
    _decimal: float,
}


@dataclass(frozen=True, slots=True)
class Filterable:
    """A field that filters accept: its ORM `path`, the check of its type, and whether it is an array."""

    name: str
    path: str
    read: Callable[[Any], Any]
    array: bool = False

    def value(self, raw: Any) -> Any:
        """Check a JSON value's type."""
        try:
            return self.read(raw)
        except (ValueError, OverflowError):
            raise refuse(f"{self.name} is not valid") from None

    def plain(self, text: str) -> Any:
        """The JSON value that a text in the query string stands for."""
        try:
            return READ_PLAIN.get(self.read, str)(text)
        except (ValueError, KeyError):
            raise refuse(f"{self.name} is not valid") from None

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

    def contains(self, raw: Any) -> Q:
        if self.read is not _text:
            raise refuse(f"Cannot use +contains on {self.name}")
        return Q(**{f"{self.path}__{'any_contains' if self.array else 'contains'}": self.value(raw)})

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


OPERATORS = frozenset({"gt", "gte", "lt", "lte", "neq", "contains"})


def filterables(resource: serializers.Serializer, names: Iterable[str]) -> dict[str, Filterable]:
    """Read column and type of each named field (``label``, ``entity.id``) off the resource."""
    return {name: _filterable(resource, name) for name in names}


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
    array = isinstance(child, serializers.ListField)
    kind = child.child if isinstance(child, serializers.ListField) else child
    read = next((read for base, read in TYPES if isinstance(kind, base)), _text)
    return Filterable(name, prefix + path, read, array)


@dataclass
class Filter:
    """A read filter: the condition, and the order if one is asked for."""

    condition: Q = field(default_factory=Q)
    ordering: str | None = None


class Reader:
    """Reads one filter, with the fields that the resource lets be filtered."""

    def __init__(self, fields: Mapping[str, Filterable]):
        self.fields = fields
        self.conditions = 0

    def read(self, raw: Any) -> Filter:
        """The filter of a decoded ``X-Filter`` header."""
        if not isinstance(raw, dict):
            raise refuse("X-Filter must be a JSON object")
        rest = {key: value for key, value in raw.items() if key not in ("+order_by", "+order")}
        return Filter(self.object(rest, 1), self.order(raw))

    def order(self, raw: Mapping[str, Any]) -> str | None:
        direction = raw.get("+order", "asc")
        if direction not in ("asc", "desc"):
            raise refuse("+order must be asc or desc")
        if "+order_by" not in raw:
            return None
        name = raw["+order_by"]
        if not isinstance(name, str) or name not in self.fields:
            raise refuse(f"Cannot order by {_shown(name)}")
        return ("-" if direction == "desc" else "") + self.fields[name].path

    def object(self, raw: Any, depth: int, prefix: str = "") -> Q:
        """All conditions of one filter object, together."""
        self.check_size(depth)
        if not isinstance(raw, dict):
            raise refuse("+and and +or take arrays of filter objects")
        condition = Q()
        for key, value in raw.items():
            condition &= self.entry(key, value, depth, prefix)
        return condition

    def entry(self, key: str, value: Any, depth: int, prefix: str) -> Q:
        if key in ("+and", "+or"):
            return self.several(key, value, lambda item: self.object(item, depth + 1, prefix))
        if key.startswith("+"):
            raise refuse(f"Unknown operator {_shown(key)}")
        name = prefix + key
        if name in self.fields:
            return self.field(self.fields[name], value, depth + 1)
        if isinstance(value, dict) and any(known.startswith(f"{name}.") for known in self.fields):
            return self.object(value, depth + 1, f"{name}.")
        raise refuse(f"Cannot filter on {_shown(name)}")

    def field(self, target: Filterable, raw: Any, depth: int) -> Q:
        """The conditions on one field: a bare value or an object of operators."""
        self.check_size(depth)
        if not isinstance(raw, dict):
            return target.equals(raw)
        condition = Q()
        for key, value in raw.items():
            if key in ("+and", "+or"):
                condition &= self.several(key, value, lambda item: self.field(target, item, depth + 1))
            elif key[:1] == "+" and key[1:] in OPERATORS:
                condition &= target.matches(key[1:], value)
            else:
                raise refuse(f"Unknown operator {_shown(key)}")
        return condition

    def several(self, key: str, items: Any, read: Callable[[Any], Q]) -> Q:
        if not isinstance(items, list) or not items:
            raise refuse(f"{key} takes an array of filters")
        conditions = [read(item) for item in items]
        if key == "+or" and not all(conditions):
            return Q()  # one that asks for nothing finds all, which Django's own "or" drops
        return reduce(or_ if key == "+or" else and_, conditions)

    def check_size(self, depth: int) -> None:
        self.conditions += 1
        if depth > DEEPEST:
            raise refuse(f"Filters nest at most {DEEPEST} deep")
        if self.conditions > MOST_CONDITIONS:
            raise refuse(f"A filter has at most {MOST_CONDITIONS} conditions")


def _shown(name: Any) -> str:
    """A value that a client sent, cut and made printable."""
    return str(name)[:64].encode("ascii", "backslashreplace").decode()


def read_header(header: str, fields: Mapping[str, Filterable]) -> Filter:
    """Read an ``X-Filter`` header. Anything wrong with it raises `Invalid` on the field ``X-Filter``."""
    if not header.strip():
        # All that granian leaves of a header with a byte beyond ASCII: to take it for none would find everything.
        raise refuse("X-Filter is not valid JSON in ASCII: other letters are written as \\u00e9")
    try:
        # WSGI hands headers over as Latin-1, clients write UTF-8
        raw = orjson.loads(header.encode("latin-1"))
    except ValueError:
        raise refuse("X-Filter is not valid JSON") from None
    return Reader(fields).read(raw)


def read_query(query: QueryDict, fields: Mapping[str, Filterable], names: Iterable[str]) -> Q:
    """Plain query parameters that name a field. One that cannot be filtered is refused, others are ignored.

    `names` are all fields of the resource. What is given twice has to hold twice.
    """
    condition = Q()
    for name, texts in query.lists():
        if name in fields:
            for text in texts:
                condition &= fields[name].equals(fields[name].plain(text))
        elif name in names:
            raise refuse(f"Cannot filter on {_shown(name)}")
    return condition
