"""Fields of resources that are more than a column. Each wraps a field that gives the type of the value.

`config.api.rendering` compiles the fields of a resource into one function. `get_attribute` and `to_representation`
do the same for one field, where DRF walks the fields of a serializer.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from rest_framework import serializers
from rest_framework.fields import SkipField

from config import word

MAX_TRANSLATIONS = 1024
"""The number of values of a field whose translations are kept (`translation_of`)."""


def column_of(field: serializers.Field) -> str:
    """Return the ORM path that a field's source names: ``type.disk`` is ``type__disk``."""
    return str(field.source).replace(".", "__")


def value_of(instance: Any, column: str) -> Any:
    """Return the value of an ORM path on a model instance, as a row of the database has it.

    The value is None behind a relation that is null. Times are in UTC and naive.
    """
    value = instance
    for name in column.split("__"):
        if value is None:
            return None
        try:
            value = getattr(value, name)
        except AttributeError as error:
            if isinstance(error, ObjectDoesNotExist):  # a one-to-one relation has no object at the other end
                return None
            raise
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def key_column(resource: serializers.Serializer) -> str:
    """Return the column that decides whether a nested object with `allow_null` is null: the column of its first
    field.
    """
    first = next(iter(resource.fields.values()))
    return first.columns[0] if isinstance(first, Computed) else column_of(first)


class CaselessField(serializers.CharField):
    """A text that is compared without regard to case: its column stores lower case."""


class NullWhenEmptyField(serializers.ListField):
    """A list that is stored and shown as null if it is empty."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return super().run_validation(data) or None

    def to_representation(self, data: Any) -> Any:
        return super().to_representation(data) or None


class PlatformTextField(serializers.CharField):
    """A text that only the platform writes, such as the id of a kernel.

    The column has the neutral form. Clients read and send the text with the word (`config.word`).
    """

    shown: Callable[[str], str] = staticmethod(word.on_wire)

    def to_internal_value(self, data: Any) -> str:
        return word.read(super().to_internal_value(data))

    def to_representation(self, value: Any) -> str:
        return self.shown(super().to_representation(value))


class PathField(PlatformTextField):
    """The path of an object of the API."""

    shown = staticmethod(word.path_on_wire)


class PlatformChoiceField(serializers.ChoiceField):
    """A choice field whose choices have the word. `Resource` puts it in the place of a `ChoiceField`."""

    @classmethod
    def instead_of(cls, field: serializers.Field) -> serializers.Field:
        """Return `field`, or this field if the choices of `field` have the word."""
        if isinstance(field, serializers.ListField):
            field.child = cls.instead_of(field.child)
        if type(field) is serializers.ChoiceField and any(
            word.on_wire(each) != each for each in map(str, field.choices)
        ):
            return cls(*field._args, **field._kwargs)  # type: ignore[attr-defined] # as DRF copies fields
        return field

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(word.read(data) if isinstance(data, str) else data)

    def to_representation(self, value: Any) -> Any:
        return word.on_wire(super().to_representation(value))


def translation_of(field: serializers.Field) -> Callable[[Any], Any] | None:
    """Return the function from a field's neutral values to the values that clients read. None if they are equal."""
    if not word.IS_SET:
        return None
    if isinstance(field, serializers.ListField):
        item = translation_of(field.child)
        return None if item is None else lambda values: values and [item(value) for value in values]
    shown = word.on_wire if isinstance(field, PlatformChoiceField) else getattr(field, "shown", None)
    if shown is None:
        return None
    translate = lru_cache(maxsize=MAX_TRANSLATIONS)(shown)  # a list has few images, actions and types
    return lambda value: value and translate(value)


class Wrapping(serializers.Field):
    """A read-only field whose type, for the OpenAPI document, is its `child`'s."""

    def __init__(self, child: serializers.Field, **kwargs: Any):
        kwargs.setdefault("read_only", True)
        kwargs.setdefault("source", "*")
        super().__init__(**kwargs)
        self.child = child

    def to_representation(self, value: Any) -> Any:
        return value


class Computed(Wrapping):
    """A value computed from several columns: ``Computed(CharField(), label_of, "id", "label")``.

    `function` takes the columns' values in order and returns a value that orjson can write. `ordered_by` names a
    column with the same order as the values, if there is one. Then lists can be ordered by the field.
    """

    def __init__(
        self,
        child: serializers.Field,
        function: Callable[..., Any],
        *columns: str,
        ordered_by: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(child, **kwargs)
        translate = translation_of(PlatformChoiceField.instead_of(child))
        self.function = function if translate is None else lambda *values: translate(function(*values))
        self.columns = columns
        self.ordered_by = ordered_by

    def get_attribute(self, instance: Any) -> list[Any]:
        """Return the values of the columns. Validated data without one of them has no such field."""
        if not isinstance(instance, Mapping):
            return [value_of(instance, column) for column in self.columns]
        if not all(column in instance for column in self.columns):
            raise SkipField
        return [instance[column] for column in self.columns]

    def to_representation(self, value: list[Any]) -> Any:
        return self.function(*value)


class Annotated(Wrapping):
    """A value that the database computes: ``Annotated(IntegerField(), Count("disks"))``.

    JSON aggregates (``ArraySubquery`` of ``JSONObject``, ``JSONBAgg``) go with a `JSONField` or a list of a nested
    resource as the child. Model instances have the value if they come from `Resource.select`.
    """

    def __init__(self, child: serializers.Field, expression: Any, **kwargs: Any):
        super().__init__(child, **kwargs)
        self.expression = expression

    def get_attribute(self, instance: Any) -> Any:
        name = f"api_{self.field_name}"
        if not isinstance(instance, Mapping):
            return getattr(instance, name)
        if name not in instance:
            raise SkipField
        return instance[name]

    def to_representation(self, value: Any) -> Any:
        """Return JSON as the database composed it, and other values as the child shows them."""
        composed = isinstance(
            self.child, serializers.JSONField | serializers.DictField | serializers.BaseSerializer
        )
        return value if composed else self.child.to_representation(value)


class Constant(Wrapping):
    """The same value for every object: ``Constant(ChoiceField(["kvm"]), "kvm")``."""

    def __init__(self, child: serializers.Field, value: Any, **kwargs: Any):
        super().__init__(child, **kwargs)
        self.value = word.on_wire(value) if isinstance(value, str) else value

    def get_attribute(self, instance: Any) -> Any:
        return self.value


class Absent(Wrapping):
    """A field that the contract has for some objects, and that no object has yet: documented, and absent from
    answers.
    """

    def get_attribute(self, instance: Any) -> Any:
        raise SkipField
