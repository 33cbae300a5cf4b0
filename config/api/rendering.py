"""From database rows to dictionaries, by one function that is written for each resource.

Walking serializer fields for every object is what makes ordinary lists slow. Here the fields are walked once,
when a resource is first used; the walk writes the source of a function such as ::

    lambda rows: [{"id": c0, "price": number(c1), "specs": {"disk": c2}} for c0, c1, c2, total in rows]

which is then evaluated, as `dataclasses` does for ``__init__``. Only names of declared fields and columns go
into the source, never anything of a request. `linecache` has the source, so that tracebacks and debuggers show it.
"""

import linecache
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
from django.db.models import DateTimeField, F, Func, QuerySet
from rest_framework import serializers

from config.api import fields

if TYPE_CHECKING:
    from config.db.prepared import Rows


class Naive(Func):
    """A time in UTC without its offset, which orjson writes as the contract wants it, and psycopg reads in C.

    Django's own loader of ``timestamptz`` is Python: 4 µs a value, a third of a list of 100.
    """

    template = "(%(expressions)s AT TIME ZONE 'UTC')"
    output_field = DateTimeField()


def parsed(value: Any) -> Any:
    """Parse JSON that the database sent as text. Return other values as they are.

    PostgreSQL's text has a blank after each comma and colon, unlike the rest of an answer. Parsing is the fastest
    way to remove the blanks: it takes half a microsecond for the devices of a profile.
    """
    return orjson.loads(value) if type(value) is str else value


def null_when_empty(value: list[Any] | None) -> list[Any] | None:
    return value or None


def number(value: Any) -> float | None:
    return None if value is None else float(value)


CONVERTERS: tuple[tuple[type, Callable], ...] = (
    (serializers.JSONField, parsed),
    (serializers.DictField, parsed),
    (serializers.BaseSerializer, parsed),
    (fields.NullWhenEmptyField, null_when_empty),
    (serializers.DecimalField, number),
    (serializers.FloatField, number),
)


@dataclass
class Shape:
    """The columns that a resource selects, and the functions from their rows to its dictionaries.

    `columns` are ORM paths, in the order of the row; `annotations` define those that are no model fields;
    `attributes` are where the same values are found on a model instance.
    """

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    annotations: dict[str, Any]
    page: Callable[["Rows"], list[dict]]
    """Rows of a page, whose last column is the total."""
    one: Callable[[Iterable[Any]], dict]
    """One row."""

    def select(self, queryset: QuerySet) -> QuerySet:
        """The queryset with this resource's annotations."""
        return queryset.annotate(**self.annotations) if self.annotations else queryset

    def of_instance(self, instance: Any) -> dict:
        """A model instance with its related objects at hand, as after a write: no second look at the database."""
        return self.one([_read(instance, attribute) for attribute in self.attributes])


def _read(instance: Any, attribute: str) -> Any:
    value = instance
    for name in attribute.split("__"):
        if value is None:
            return None
        value = getattr(value, name)
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


@dataclass
class _Writer:
    """Writes the source of the functions and collects the columns they read."""

    columns: dict[str, str] = field(default_factory=dict)
    """Columns in order, each with its attribute path."""
    annotations: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def variable(self, column: str, attribute: str | None = None) -> str:
        self.columns.setdefault(column, attribute or column)
        return f"c{list(self.columns).index(column)}"

    def named(self, value: Any) -> str:
        name = f"n{len(self.names)}"
        self.names[name] = value
        return name

    def dictionary(self, resource: serializers.Serializer, prefix: str) -> str:
        items = [
            self.item(name, child, prefix)
            for name, child in resource.fields.items()
            if not child.write_only and not isinstance(child, fields.Absent)
        ]
        return "{" + ",\n ".join(items) + "}"  # a line for each field, which tracebacks then name

    def item(self, name: str, child: serializers.Field, prefix: str) -> str:
        return f"{name!r}: {self.value(name, child, prefix)}"

    def value(self, name: str, child: serializers.Field, prefix: str) -> str:
        source = (child.source or name).replace(".", "__")
        if isinstance(child, fields.Constant):
            return self.named(child.value)
        if isinstance(child, fields.Computed):
            arguments = [self.variable(prefix + column) for column in child.columns]
            return f"{self.named(child.function)}({', '.join(arguments)})"
        if isinstance(child, serializers.Serializer):
            return self.nested(child, prefix if source == "*" else f"{prefix}{source}__")
        if isinstance(child, fields.Annotated):
            column = f"{prefix}api_{name}"
            self.annotations[column] = child.expression
            return self.converted(child.child, column)
        return self.converted(child, prefix + source)

    def nested(self, child: serializers.Serializer, prefix: str) -> str:
        """An object within the object; one that may be null is so where the column of its first field is empty."""
        body = self.dictionary(child, prefix)
        if not child.allow_null:
            return body
        first = next(iter(child.fields.values()))
        column = first.columns[0] if isinstance(first, fields.Computed) else fields.column_of(first)
        return f"({body} if {self.variable(prefix + column)} not in (None, '') else None)"

    def converted(self, child: serializers.Field, column: str) -> str:
        if isinstance(child, serializers.DateTimeField):
            alias = f"utc_{column}"
            self.annotations[alias] = Naive(F(column))
            return self.variable(alias, column)
        variable = self.variable(column)
        for kind, convert in CONVERTERS:
            if isinstance(child, kind):
                return f"{self.named(convert)}({variable})"
        return variable


def compile_shape(resource: serializers.Serializer) -> Shape:
    """Walk the fields of `resource` once and write its `Shape`."""
    writer = _Writer()
    body = writer.dictionary(resource, "")
    columns = "".join(f"c{index}, " for index in range(len(writer.columns)))
    name = f"{type(resource).__module__}.{type(resource).__qualname__}"
    page = _evaluated(f"<page of {name}>", f"lambda rows: [{body} for {columns}total in rows]", writer.names)
    one = _evaluated(f"<{name}>", f"lambda row: [{body} for {columns}in (row,)][0]", writer.names)
    return Shape(tuple(writer.columns), tuple(writer.columns.values()), writer.annotations, page, one)


def _evaluated(file: str, source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function that `source` says. Tracebacks name `file` and show the line of it."""
    # None for the time of its change: such an entry is not looked for on the disk, and so not dropped
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return eval(compile(source, file, "eval"), names)  # noqa: S307 - see above
