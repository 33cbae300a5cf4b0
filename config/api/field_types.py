"""The field types and arguments that resources support. All others are refused when the class is made.

The compiled function (`config.api.rendering`) writes a value of these types unchanged, or in the one form that the
contract requires. An argument that asks for another form would have no effect and raise no error.
"""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework import fields as drf
from rest_framework import serializers

from config.api.fields import Annotated, Wrapping

COMMON = frozenset(
    (
        "read_only", "write_only", "required", "default", "initial", "source", "label", "help_text", "style",
        "error_messages", "validators", "allow_null",
    )
)  # fmt: skip
"""Arguments of every field."""
_TEXT = frozenset(("allow_blank", "trim_whitespace", "max_length", "min_length"))
_NUMBER = frozenset(("max_value", "min_value"))
_ITEMS = frozenset(("child", "allow_empty", "max_length", "min_length"))

ARGUMENTS: Mapping[type[serializers.Field], frozenset[str]] = {
    serializers.Field: frozenset(),
    serializers.BooleanField: frozenset(),
    serializers.CharField: _TEXT,
    serializers.EmailField: _TEXT,
    serializers.URLField: _TEXT,
    serializers.RegexField: _TEXT | {"regex"},
    serializers.SlugField: _TEXT | {"allow_unicode"},
    serializers.IPAddressField: _TEXT | {"protocol"},
    serializers.UUIDField: frozenset(),
    serializers.IntegerField: _NUMBER,
    serializers.FloatField: _NUMBER,
    serializers.DecimalField: _NUMBER | {"max_digits", "decimal_places"},
    serializers.DateTimeField: frozenset(("input_formats",)),
    serializers.DateField: frozenset(("input_formats",)),
    serializers.ChoiceField: frozenset(("choices", "allow_blank")),
    serializers.ListField: _ITEMS,
    serializers.DictField: _ITEMS - {"max_length", "min_length"},
    serializers.JSONField: frozenset(),
    drf._UnvalidatedField: frozenset(),  # the child of a list that declares none
}
"""The field types, each with its own arguments."""

VALUE = "write `Computed`, `Annotated` or `Constant` (config/api/fields.py)"
_COLUMN = 'name the column: `IntegerField(source="type_id")`, `CharField(source="type.label")`'

TYPES: Mapping[type[serializers.Field], str] = {
    serializers.SerializerMethodField: VALUE,
    serializers.RelatedField: _COLUMN,
    serializers.ManyRelatedField: "write `Annotated` with an ArraySubquery",
    serializers.FileField: "an action may read `request.body` itself (accounts/api/oauth_clients.py does)",
    serializers.ModelSerializer: "declare each field in a `Resource`",
    serializers.ReadOnlyField: "name the type of the column: `CharField(read_only=True)`",
    serializers.HiddenField: "set the value in the service: clients could send another one",
    serializers.DurationField: "write `Computed(FloatField(), timedelta.total_seconds, ...)`, in seconds",
    serializers.TimeField: "write `Computed(CharField(), time.isoformat, ...)`",
    serializers.MultipleChoiceField: "write `ListField(child=ChoiceField(...))`",
}
"""The refused field types that have a substitute."""

_DECIMAL = "decimals are written as numbers"
_JSON = "JSON is written as it is"
FORMS: Mapping[str, str] = {
    "format": "times are written like 2026-01-31T12:00:00, UUIDs with dashes; write `Computed` for another form",
    "default_timezone": "all times are in UTC",
    "coerce_to_string": _DECIMAL,
    "localize": _DECIMAL,
    "normalize_output": _DECIMAL,
    "rounding": "write `Computed` to round a value",
    "binary": _JSON,
    "encoder": _JSON,
    "decoder": _JSON,
}
"""The refused arguments that give a value another form, each with the form that is used."""
_ATTRIBUTES = {name: name for name in FORMS} | {"timezone": "default_timezone", "uuid_format": "format"}
del _ATTRIBUTES["default_timezone"]  # a method
_UNCHANGED = (None, False, "hex_verbose")


def refuse(where: str, word: str, advice: str) -> None:
    raise ImproperlyConfigured(f"{where}: `{word}` is not supported; {advice}.")


def check_field(where: str, field: serializers.Field) -> None:
    """Raise `ImproperlyConfigured` for a field that resources do not support.

    Its type is unknown, it has an unknown argument, or DRF's walk would show another value than the compiled
    function.
    """
    if isinstance(field, Wrapping):
        _check_wrapped(where, field)
        return
    for refused, advice in TYPES.items():
        if isinstance(field, refused):
            refuse(where, type(field).__name__, advice)
    child = getattr(field, "child", None)
    if not isinstance(field, serializers.BaseSerializer):
        _check_type(where, field)
        if not field.write_only and type(field).to_representation is serializers.Field.to_representation:
            refuse(where, type(field).__name__, f"give the class a `to_representation`, or {VALUE}")
    if isinstance(child, serializers.Field):
        check_field(where, child)
    if not field.write_only and isinstance(child, serializers.DateTimeField | serializers.DecimalField):
        refuse(where, f"child={type(child).__name__}", VALUE)


def _check_wrapped(where: str, field: Wrapping) -> None:
    """Check the child of a `Computed` or `Constant`: it declares only the type of the value."""
    child = field.child
    if isinstance(child, serializers.BaseSerializer):
        return
    _check_type(where, child)
    own = next(base for base in type(child).__mro__ if "to_representation" in vars(base))
    if not own.__module__.startswith(("rest_framework.", "config.api.")):
        refuse(where, f"{own.__name__}.to_representation", f"`{type(field).__name__}` shows its value as it is")
    if isinstance(field, Annotated) and own is serializers.Field:
        refuse(where, type(child).__name__, "wrap a field of DRF's")


def _check_type(where: str, field: serializers.Field) -> None:
    kind: Any = next(base for base in type(field).__mro__ if base.__module__.startswith("rest_framework."))
    if kind not in ARGUMENTS:
        refuse(where, kind.__name__, VALUE)
    cls: Any = type(field)
    if cls.__init__ is kind.__init__:  # the arguments of an own constructor belong to that constructor
        for name in sorted(set(vars(field)["_kwargs"]) - COMMON - ARGUMENTS[kind]):
            refuse(where, name, FORMS.get(name, VALUE))
    for attribute, name in _ATTRIBUTES.items():
        if getattr(field, attribute, None) not in _UNCHANGED:
            refuse(where, name, FORMS[name])
