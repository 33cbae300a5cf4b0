"""Fields of resources that are not simply a column. Each wraps a field for the type of the value."""

from collections.abc import Callable
from typing import Any

from rest_framework import serializers


def column_of(field: serializers.Field) -> str:
    """The ORM path that a field's source names: ``type.disk`` is ``type__disk``."""
    return str(field.source).replace(".", "__")


class CaselessField(serializers.CharField):
    """A text that is compared without regard to case: its column holds it in lower case."""


class NullWhenEmptyField(serializers.ListField):
    """A list that is stored and shown as null if it has no items."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return super().run_validation(data) or None


class Wrapping(serializers.Field):
    """A read-only field whose type, for the OpenAPI document, is its `child`'s."""

    def __init__(self, child: serializers.Field, **kwargs: Any):
        kwargs.setdefault("read_only", True)
        kwargs.setdefault("source", "*")
        super().__init__(**kwargs)
        self.child = child


class Computed(Wrapping):
    """A value worked out from several columns: ``Computed(CharField(), label_of, "id", "label")``.

    `function` takes the columns' values in order and returns something orjson can write. `ordered_by` names a
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
        self.function = function
        self.columns = columns
        self.ordered_by = ordered_by


class Annotated(Wrapping):
    """A value the database works out: ``Annotated(IntegerField(), Count("disks"))``.

    JSON aggregates (``ArraySubquery`` of ``JSONObject``, ``JSONBAgg``) go with a `JSONField` or a list of a
    nested resource as the child.
    """

    def __init__(self, child: serializers.Field, expression: Any, **kwargs: Any):
        super().__init__(child, **kwargs)
        self.expression = expression


class Constant(Wrapping):
    """The same value for every object: ``Constant(ChoiceField(["kvm"]), "kvm")``."""

    def __init__(self, child: serializers.Field, value: Any, **kwargs: Any):
        super().__init__(child, **kwargs)
        self.value = value


class Absent(Wrapping):
    """Something the contract has for some objects and none of ours has yet: documented, left out of answers."""
