"""Names that have a meaning in Django and DRF and none in this kit: refused when the class is made.

Such a name would have no effect and raise no error. So each is refused with a sentence that says what to write
instead. docs/adding-an-endpoint.md has all of them in a table.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework import serializers
from rest_framework.viewsets import GenericViewSet

_FILTER = "declare a filter for it in the list's filters, which X-Filter and the query parameters share"
_VERSION = "the version is part of the path"
_SERVICE = "write the view's action `create`, `update` or `destroy`, which calls a function of the app's services"
_BODY = "bodies are JSON objects; an action may read `request.body` itself (accounts/api/oauth_clients.py does)"

VIEW_NAMES: Mapping[str, str] = {
    "filterset_fields": _FILTER,
    "search_fields": _FILTER,
    "ordering_fields": _FILTER,
    "perform_create": _SERVICE,
    "perform_update": _SERVICE,
    "perform_destroy": _SERVICE,
    "get_success_headers": _SERVICE,
    "get_format_suffix": "answers are JSON, whatever the path ends with",
    "versioning_class": _VERSION,
    "determine_version": _VERSION,
    "metadata_class": "OPTIONS answers the methods alone; docs/openapi.yaml describes them",
}
"""The names that a view may not have, each with what to write instead."""

_DECLARED = "give it to `@action` or set it on the view; DRF's decorators are for views that are functions"
DECORATORS = (
    "permission_classes",
    "throttle_classes",
    "authentication_classes",
    "parser_classes",
    "renderer_classes",
)
"""The attributes that DRF's decorators of functions leave, without an effect on the method of a viewset."""

_VALUE = (
    "output is compiled from declared fields: write `Computed`, `Annotated` or `Constant` (config/api/fields.py)"
)
_META = "declare each field: a resource is no ModelSerializer; its Meta has `filterable` and `read_only`"

RESOURCE_NAMES: Mapping[str, str] = {
    "to_representation": _VALUE,
    "create": _SERVICE,
    "update": _SERVICE,
    "save": _SERVICE,
}
"""The names that a resource may not have."""

META_NAMES: Mapping[str, str] = {
    "model": _META,
    "fields": _META,
    "exclude": _META,
    "depth": _META,
    "extra_kwargs": _META,
    "read_only_fields": "write `read_only=True` at the field, or `Meta.read_only` for all of them",
}
"""The names that the Meta of a resource may not have."""

FIELD_TYPES: Mapping[type[serializers.Field], str] = {
    serializers.SerializerMethodField: _VALUE,
    serializers.RelatedField: 'name the column: `IntegerField(source="type_id")`, `CharField(source="type.label")`',
    serializers.ManyRelatedField: "write `Annotated` with an ArraySubquery",
    serializers.FileField: _BODY,
}
"""The fields that a resource may not have."""

_VIEWS = frozenset(GenericViewSet.__mro__)
_RESOURCES = frozenset(serializers.Serializer.__mro__)


def _refuse(where: str, word: str, advice: str) -> None:
    raise ImproperlyConfigured(f"{where}: `{word}` is not supported; {advice}.")


def _own(cls: type, known: Container[type]) -> Iterator[tuple[str, Any]]:
    """What a class and its bases define, those of `known` left out. A mixin is looked into as well."""
    for base in cls.__mro__:
        if base not in known:
            yield from vars(base).items()


def check_view(cls: type) -> None:
    """Raise `ImproperlyConfigured` if a view has a name of `VIEW_NAMES`, or an action with one of `DECORATORS`."""
    for name, value in _own(cls, _VIEWS):
        if name in VIEW_NAMES:
            _refuse(cls.__name__, name, VIEW_NAMES[name])
        if isinstance(value, FunctionType):
            for word in vars(value).keys() & DECORATORS:
                _refuse(f"{cls.__name__}.{name}", f"@{word}", _DECLARED)


def check_route(cls: type, given: Iterable[str]) -> None:
    """The same for the keywords of ``as_view``."""
    for name in given:
        if name in VIEW_NAMES:
            _refuse(f"{cls.__name__}.as_view", name, VIEW_NAMES[name])


def check_resource(cls: type[serializers.Serializer]) -> None:
    """Raise `ImproperlyConfigured` if a resource, its Meta or one of its fields has a way of its own to render."""
    for name, _ in _own(cls, _RESOURCES):
        if name in RESOURCE_NAMES:
            _refuse(cls.__name__, name, RESOURCE_NAMES[name])
    for name in META_NAMES:
        if hasattr(getattr(cls, "Meta", None), name):
            _refuse(f"{cls.__name__}.Meta", name, META_NAMES[name])
    for name, field in cls._declared_fields.items():
        _check_field(f"{cls.__name__}.{name}", field)


def _check_field(where: str, field: serializers.Field) -> None:
    for kind, advice in FIELD_TYPES.items():
        if isinstance(field, kind):
            _refuse(where, type(field).__name__, advice)
    renders = next(base for base in type(field).__mro__ if "to_representation" in vars(base))
    if not field.write_only and not renders.__module__.startswith("rest_framework."):
        _refuse(where, f"{renders.__name__}.to_representation", _VALUE)
    if isinstance(field, serializers.Serializer):
        check_resource(type(field))  # one that is not of the kit's is checked here alone
    child = getattr(field, "child", None)
    if isinstance(child, serializers.Field):
        _check_field(where, child)
