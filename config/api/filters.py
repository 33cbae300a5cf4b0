"""Collection filters: the ``X-Filter`` language and plain query parameters, compiled to `Q` by `XFilterBackend`.

A filter is a JSON object, or an array of such objects that must all match. A bare value means equality.
``{"+gt": 3}`` inside a field uses an operator. ``+and`` and ``+or`` take arrays of filters. ``+order_by`` names a
plain field, and ``+order`` is ``asc`` or ``desc``. ``+order`` alone orders by the list's key (`KEYS`). The filters
of a list are declared in a `FilterSet` (`config.filters`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NoReturn

import orjson
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request

from config import word
from config.api.ordering import check_unordered, orders_of
from config.filters import OPERATORS, Filter, refuse

MAX_DEPTH = 20
"""The maximum depth of nested ``+and`` and ``+or``."""
MAX_FILTER_LENGTH = 64 * 1024
"""The maximum number of bytes in the header."""
TOO_DEEP = f"X-Filter nests deeper than {MAX_DEPTH} levels"
TOO_LONG = f"X-Filter is longer than {MAX_FILTER_LENGTH // 1024} KB"
ORDER = frozenset({"+order_by", "+order"})
KEYS = ("id", "address", "range", "label", "username", "when")
"""The key of a list is the first of these fields that its items have and that can be filtered."""


@dataclass
class Criteria:
    """A read filter: the condition, and the order if one is asked for."""

    condition: Q = field(default_factory=Q)
    ordering: str | None = None

    def __bool__(self) -> bool:
        return bool(self.condition) or self.ordering is not None

    def order_of(self, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the requested column, then the columns of the list's own order."""
        return (self.ordering, *default) if self.ordering else default


class XFilterBackend(DjangoFilterBackend):
    """Filters and orders a list by the ``X-Filter`` header and by plain query parameters.

    The view has a `serializer_class`, which determines the possible orders, an `ordering`, and usually a
    `filterset_class`. The queryset has the annotations of the serializer. Any error in a filter raises `Invalid` on
    the field ``X-Filter``. No filter set or form is instantiated: everything is read from the class.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet, view: Any) -> QuerySet:
        """Return the requested rows, in the order of the request and then of `view.ordering`."""
        check_unordered(type(view), queryset)
        criteria = self.read(request, view)
        if criteria is None:
            return queryset.order_by(*view.ordering)
        return queryset.filter(criteria.condition).order_by(*criteria.order_of(view.ordering))

    def read(self, request: Request, view: Any) -> Criteria | None:
        """Return the request's filter. None if there is none: then the list needs no SQL of its own."""
        meta = request.META
        header = meta.get("HTTP_X_FILTER")
        query = request.query_params if meta.get("QUERY_STRING") else None
        if not header and not query:
            return None
        filterset = self.get_filterset_class(view)
        filters = filterset.base_filters if filterset else {}
        serializer = view.serializer_class
        criteria = read_header(header, filters, orders_of(serializer, filterset)) if header else Criteria()
        if query:
            criteria.condition = _all_of([criteria.condition, read_query(query, filters, serializer.paths())])
        return criteria or None

    def get_filterset_class(self, view: Any, queryset: QuerySet | None = None) -> Any:
        """Return the view's `filterset_class`. If a queryset is given, its model is checked as well."""
        if queryset is not None:
            return super().get_filterset_class(view, queryset)
        return getattr(view, "filterset_class", None)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Return the ``X-Filter`` header for the OpenAPI document, with the names that it accepts.

        Empty without any.
        """
        filterset = self.get_filterset_class(view)
        filters = list(filterset.base_filters) if filterset else []
        orders = orders_of(view.serializer_class, filterset)
        if not orders:
            return []
        on = f", on: {_listed(filters)}" if filters else ""
        others = [name for name in orders if name not in filters]
        besides = f"the same{', and ' if others else ''}{_listed(others)}" if filters else _listed(others)
        about = f"A filter, as a JSON object (see *X-Filter*){on}. `+order_by` takes {besides}."
        return [
            {
                "name": "X-Filter",
                "in": "header",
                "required": False,
                "description": about,
                "schema": {"type": "string"},
            }
        ]


class Reader:
    """Reads one filter. `fields` are the fields that can be filtered, `orders` the paths of possible orders."""

    def __init__(self, fields: Mapping[str, Filter], orders: Mapping[str, str | None]):
        self.fields = fields
        self.orders = orders

    def read(self, raw: Any) -> Criteria:
        """Return the filter of a decoded ``X-Filter`` header."""
        conditions: list[Q] = []
        order: dict[str, Any] = {}
        for each in raw if isinstance(raw, list) else [raw]:
            if not isinstance(each, dict):
                raise refuse("X-Filter must be a JSON object, or an array of such objects")
            rest = dict(each)
            for key in ORDER.intersection(rest):
                if order.setdefault(key, rest[key]) != rest.pop(key):
                    raise refuse(f"X-Filter has more than one {key}")
            conditions.append(self.object(rest, 0))
        return Criteria(_all_of(conditions), self.order(order))

    def order(self, raw: Mapping[str, Any]) -> str | None:
        direction = raw.get("+order", "asc")
        if direction not in ("asc", "desc"):
            raise refuse("+order must be asc or desc")
        if "+order_by" in raw:
            name = raw["+order_by"]
            if not isinstance(name, str):
                raise refuse("+order_by is not valid")
            if name not in self.orders:
                raise refuse(f"Cannot order by {_shown(name)}")
            path = self.orders[name]
        elif "+order" in raw:
            path = next((self.fields[key].field_name for key in KEYS if key in self.fields), "pk")
        else:
            return None
        return None if path is None else ("-" if direction == "desc" else "") + path

    def object(self, raw: Any, depth: int, prefix: str = "") -> Q:
        """Return all conditions of one filter object, combined.

        `depth` counts the ``+and`` and ``+or`` around it.
        """
        if not isinstance(raw, dict):
            raise refuse("+and and +or take arrays of filter objects")
        return _all_of([self.entry(key, value, depth, prefix) for key, value in raw.items()])

    def entry(self, key: str, value: Any, depth: int, prefix: str) -> Q:
        if key in ("+and", "+or"):
            return self.several(
                key,
                value,
                depth,
                read=lambda item: self.object(item, depth + 1, prefix),
                bare=lambda item: self.bare(item, prefix),
            )
        if key.startswith("+"):
            raise refuse(f"Unknown operator {_shown(key)}")
        name = prefix + key
        if name in self.fields:
            return self.field(self.fields[name], value, depth)
        if isinstance(value, dict) and any(known.startswith(f"{name}.") for known in self.fields):
            return self.object(value, depth, f"{name}.") or _nothing_of(name)
        raise refuse(f"Cannot filter on {_shown(name)}")

    def bare(self, item: Any, prefix: str) -> tuple[str, Any] | None:
        """Return the field and the value of a filter object that only says that the one equals the other."""
        if not isinstance(item, dict) or len(item) != 1:
            return None
        ((key, value),) = item.items()
        return (prefix + key, value) if prefix + key in self.fields and _is_bare(value) else None

    def field(self, target: Filter, raw: Any, depth: int) -> Q:
        """Return the conditions on one field: a bare value, or an object with at least one operator."""
        if not isinstance(raw, dict):
            return target.equals(raw)
        conditions = []
        for key, value in raw.items():
            if key in ("+and", "+or"):
                conditions.append(
                    self.several(
                        key,
                        value,
                        depth,
                        read=lambda item: self.field(target, item, depth + 1),
                        bare=lambda item: (target.name, item) if _is_bare(item) else None,
                    )
                )
            elif key[:1] == "+" and key[1:] in OPERATORS:
                conditions.append(target.matches(key[1:], value))
            else:
                raise refuse(f"Unknown operator {_shown(key)}")
        return _all_of(conditions) or _nothing_of(target.name)

    def several(
        self,
        key: str,
        items: Any,
        depth: int,
        read: Callable[[Any], Q],
        bare: Callable[[Any], tuple[str, Any] | None],
    ) -> Q:
        """Return the filters of ``+and`` or ``+or``.

        For ``+or``, `bare` filters with the same field become one condition: a filter for 500 ids has 500 of them.
        """
        if not isinstance(items, list):
            raise refuse(f"{key} takes an array of filters")
        if depth >= MAX_DEPTH:
            raise refuse(TOO_DEEP)
        if key == "+and":
            return _all_of(map(read, items))
        equal: dict[str, list[Any]] = {}
        conditions = []
        for item in items:
            if found := bare(item):
                equal.setdefault(found[0], []).append(found[1])
            else:
                conditions.append(read(item))
        conditions += (self.fields[name].among(values) for name, values in equal.items())
        # A filter without conditions finds all rows, but Django's own "or" drops it.
        return Q(*conditions, _connector=Q.OR) if all(conditions) else Q()


def _is_bare(value: Any) -> bool:
    """Tell whether a field's value is neither an object of operators nor null, which equals nothing in SQL."""
    return value is not None and not isinstance(value, dict)


def _all_of(conditions: Iterable[Q]) -> Q:
    """Return all conditions combined, without empty ones. The time of Django's ``&`` grows with the square."""
    found = [each for each in conditions if each]
    return found[0] if len(found) == 1 else Q(*found)


def _nothing_of(name: str) -> NoReturn:
    """Refuse an object that names a field without a condition: to ignore it would find every row."""
    raise refuse(f"{_shown(name)} is not valid")


def _shown(name: Any) -> str:
    """Return a value that a client sent, shortened and printable."""
    return word.quoted(str(name)[:64].encode("ascii", "backslashreplace").decode())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[][{}]")
_STEP = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


def _nesting(text: bytes) -> int:
    """Return the depth of nested brackets in a JSON text. Brackets in strings do not count."""
    brackets = _BRACKET.findall(_STRING.sub(b"", text))
    return max(accumulate(_STEP[each] for each in brackets), default=0)


def read_header(header: str, fields: Mapping[str, Filter], orders: Mapping[str, str | None]) -> Criteria:
    """Read an ``X-Filter`` header. Any error in it raises `Invalid` on the field ``X-Filter``.

    An empty header is no filter.
    """
    # WSGI passes headers as Latin-1, and clients write UTF-8.
    text = header.encode("latin-1").strip()
    if not text:
        return Criteria()
    if len(text) > MAX_FILTER_LENGTH:
        raise refuse(TOO_LONG)
    try:
        raw = orjson.loads(text)
    except ValueError:
        # orjson reads at most 1,024 nested brackets. Each level of a filter has two, an object and an array.
        raise refuse(TOO_DEEP if _nesting(text) > 2 * MAX_DEPTH + 2 else "X-Filter is not valid JSON") from None
    return Reader(fields, orders).read(raw)


def read_query(query: QueryDict, fields: Mapping[str, Filter], names: Iterable[str]) -> Q:
    """Read plain query parameters that name a field. One that cannot be filtered is refused, others are ignored.

    `names` are all fields of the resource. If a parameter is given twice, both values must match.
    """
    conditions: list[Q] = []
    for name, texts in query.lists():
        if name in fields:
            conditions += (fields[name].is_value(fields[name].plain(text)) for text in texts)
        elif name in names:
            raise refuse(f"Cannot filter on {_shown(name)}")
    return _all_of(conditions)
