"""Functions from database rows to dictionaries, compiled once for each resource.

Ordinary lists are slow because they walk the serializer's fields for every object. Here the fields are walked once,
when a resource is first used. The walk writes the source of a function such as ::

    lambda rows: [{"id": c0, "price": number(c1), "specs": {"disk": c2}} for c0, c1, c2, total in rows]

The source is then evaluated, as `dataclasses` does for ``__init__``. It contains only names of declared fields and
columns, never a part of a request. `linecache` has the source, so that tracebacks and debuggers show it.

The function does the same as DRF's walk over the fields, but calls no method of DRF that an app overrides.
`hooks_of` finds these methods, and a resource that has one is not compiled.
"""

import linecache
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from django.core.exceptions import ImproperlyConfigured
from django.db.models import DateTimeField, F, Func, Model, QuerySet
from django.db.models.manager import BaseManager
from rest_framework import serializers

from config.api import fields, relations

if TYPE_CHECKING:
    from config.db.prepared import Rows


class Naive(Func):
    """A time in UTC without its offset. orjson writes it in the contract's format, and psycopg reads it in C.

    Django's own loader of ``timestamptz`` is written in Python. It takes 4 µs for a value: a third of a list of
    100.
    """

    template = "(%(expressions)s AT TIME ZONE 'UTC')"
    output_field = DateTimeField()


def parsed(value: Any) -> Any:
    """Parse JSON that the database sent as text. Other values are returned unchanged.

    PostgreSQL's text has a blank after each comma and colon, unlike the rest of an answer. Parsing is the fastest
    way to remove the blanks: it takes half a microsecond for the devices of a profile.
    """
    return orjson.loads(value) if type(value) is str else value


def null_when_empty(value: list[Any] | None) -> list[Any] | None:
    return value or None


def shown_by(of_instance: Callable[[], Callable[[Any], dict]]) -> Callable[[Any], list[dict] | None]:
    """Return a function that shows a list of nested objects. JSON from the database is shown unchanged."""

    def shown(value: Any) -> list[dict] | None:
        if value is None or type(value) is str:
            return parsed(value)
        items = value.all() if isinstance(value, BaseManager) else value
        return [item if isinstance(item, dict) else of_instance()(item) for item in items]

    return shown


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

FRAMEWORK = ("rest_framework.", "config.api.", "builtins")
"""Modules whose methods the compiled function replaces."""
SERIALIZER_HOOKS = ("to_representation", "get_attribute", "get_fields", "fields", "_readable_fields", "__init__")
FIELD_HOOKS = ("to_representation", "get_attribute")


@dataclass
class Shape:
    """The columns that a resource selects, and the functions from their rows to its dictionaries.

    `columns` are ORM paths, in the order of the row. `annotations` define the columns that are no model fields.
    `attributes` are the paths to the same values on a model instance. `owners` names the field that an attribute is
    for: ``InstanceResource.specs.disk``.
    """

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    annotations: dict[str, Any]
    owners: dict[str, str]
    page: Callable[["Rows"], list[dict]]
    """The function for the rows of a page, whose last column is the total."""
    one: Callable[[Iterable[Any]], dict]
    """The function for one row."""
    checked: set[type[Model]] = field(default_factory=set)
    """The models that have all columns."""

    def select(self, queryset: QuerySet) -> QuerySet:
        """Return the queryset with this resource's annotations.

        Raises `ImproperlyConfigured` if the model has no such columns, or many rows for one of them.
        """
        if queryset.model not in self.checked:
            self.check(queryset)
        return queryset.annotate(**self.annotations) if self.annotations else queryset

    def check(self, queryset: QuerySet) -> None:
        for attribute, owner in self.owners.items():
            if attribute not in self.annotations:
                relations.check_column(queryset, attribute, owner)
        self.checked.add(queryset.model)

    def of_instance(self, instance: Any) -> dict:
        """Render a model instance whose related objects are loaded, as after a write: no second query."""
        return self.one([fields.value_of(instance, attribute) for attribute in self.attributes])


@dataclass
class _Writer:
    """Writes the source of the functions and collects the columns they read."""

    root: str
    """The name of the resource."""
    columns: dict[str, str] = field(default_factory=dict)
    """Columns in order, each with its attribute path."""
    annotations: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    """The names of the field that is being written, and of the fields around it."""

    def variable(self, column: str, attribute: str | None = None) -> str:
        self.columns.setdefault(column, attribute or column)
        self.owners.setdefault(attribute or column, ".".join((self.root, *self.path)))
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
        return "{" + ",\n ".join(items) + "}"  # each field has a line of its own, so that tracebacks name it

    def item(self, name: str, child: serializers.Field, prefix: str) -> str:
        self.path.append(name)
        value = self.value(name, child, prefix)
        self.path.pop()
        return f"{name!r}: {value}"

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
        item: Any = child.child if isinstance(child, serializers.ListSerializer) else None
        if hasattr(item, "shape"):
            shown = shown_by(lambda: item.shape().of_instance)
            return f"{self.named(shown)}({self.variable(prefix + source)})"
        return self.converted(child, prefix + source)

    def nested(self, child: serializers.Serializer, prefix: str) -> str:
        """Write a nested object. If it may be null, it is null when the column of its first field is empty."""
        body = self.dictionary(child, prefix)
        if not child.allow_null:
            return body
        return f"({body} if {self.variable(prefix + fields.key_column(child))} not in (None, '') else None)"

    def converted(self, child: serializers.Field, column: str) -> str:
        if isinstance(child, serializers.DateTimeField):
            alias = f"utc_{column}"
            self.annotations[alias] = Naive(F(column))
            return self.variable(alias, column)
        variable = self.variable(column)
        if translate := fields.translation_of(child):
            return f"{self.named(translate)}({variable})"
        for kind, convert in CONVERTERS:
            if isinstance(child, kind):
                return f"{self.named(convert)}({variable})"
        return variable


def _written(resource: serializers.Serializer) -> tuple[_Writer, str]:
    writer = _Writer(type(resource).__name__)
    return writer, writer.dictionary(resource, "")


def select(resource: serializers.Serializer, queryset: QuerySet) -> QuerySet:
    """Return the queryset with everything that DRF's walk over the fields of `resource` needs of each row.

    The walk needs the resource's annotations, and the related objects of its columns.
    """
    writer, _ = _written(resource)
    annotations = {name: each for name, each in writer.annotations.items() if not isinstance(each, Naive)}
    for attribute, owner in writer.owners.items():
        if attribute not in annotations:
            relations.check_column(queryset, attribute, owner)
    paths = (relations.relation_of(queryset.model, attribute) for attribute in writer.owners)
    related = [path for path in dict.fromkeys(paths) if path]
    rows = queryset.annotate(**annotations)
    return rows.select_related(*related) if related else rows  # without arguments, it would join all relations


def hooks_of(cls: type[serializers.Serializer], resource: serializers.Serializer | None = None) -> Iterator[str]:
    """Yield the methods of an app that take part in DRF's walk over the fields, as ``Class.method``.

    The compiled function calls none of them. `resource` is the serializer, if the caller has it.
    """
    own = [hook for hook in map(_overridden(cls), SERIALIZER_HOOKS) if hook]
    yield from own
    if own:
        return  # the constructor may need arguments
    for child in (resource or cls()).fields.values():
        if not child.write_only:
            yield from _hooks_of_field(child)


def _hooks_of_field(child: serializers.Field) -> Iterator[str]:
    if isinstance(child, serializers.Serializer):
        yield from hooks_of(type(child), child)
    else:
        yield from (hook for hook in map(_overridden(type(child)), FIELD_HOOKS) if hook)
    item = None if isinstance(child, fields.Wrapping) else getattr(child, "child", None)
    if isinstance(item, serializers.Field):
        yield from _hooks_of_field(item)


def _overridden(cls: type) -> Callable[[str], str | None]:
    """Return a function that names the class of an app from which `cls` has a method."""

    def of_app(method: str) -> str | None:
        base = next((base for base in cls.__mro__ if method in vars(base)), object)
        return None if base.__module__.startswith(FRAMEWORK) else f"{base.__name__}.{method}"

    return of_app


def compile_shape(cls: type[serializers.Serializer]) -> Shape:
    """Walk the fields of a resource once and write its `Shape`.

    Raises `ImproperlyConfigured` if the resource has hooks, which the `Shape` would not call.
    """
    for hook in hooks_of(cls):
        raise ImproperlyConfigured(
            f"{cls.__name__}: `{hook}` is not compiled; render `{cls.__name__}(instance).data`."
        )
    writer, body = _written(cls())
    row = "".join(f"c{index}, " for index in range(len(writer.columns)))
    name = f"{cls.__module__}.{cls.__qualname__}"
    page = _evaluated(f"<page of {name}>", f"lambda rows: [{body} for {row}total in rows]", writer.names)
    one = _evaluated(f"<{name}>", f"lambda row: [{body} for {row}in (row,)][0]", writer.names)
    columns, attributes = tuple(writer.columns), tuple(writer.columns.values())
    return Shape(columns, attributes, writer.annotations, writer.owners, page, one)


def _evaluated(file: str, source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Return the function that `source` defines. Tracebacks name `file` and show the line of it."""
    # None as the modification time: such an entry is not looked up on the disk, and so not dropped.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return eval(compile(source, file, "eval"), names)  # noqa: S307 - see above
