"""Names that Django and DRF know and this kit does not support. They are refused when the class is made.

Such a name would have no effect and raise no error. The error says what to write instead.
"""

from collections.abc import Container, Iterator, Mapping
from types import FunctionType
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework import serializers
from rest_framework.viewsets import GenericViewSet

from config.api import field_types

_FILTER = "declare `filterset_class`, a FilterSet of the app's filters (config/filters/)"
_VERSION = "the version is part of the path"
_SERVICE = "write the view's action `create`, `update` or `destroy`, which calls a function of the app's services"

VIEW_NAMES: Mapping[str, str] = {
    "filterset_fields": _FILTER,
    "search_fields": _FILTER,
    "ordering_fields": _FILTER,
    "perform_create": _SERVICE,
    "perform_update": _SERVICE,
    "perform_destroy": _SERVICE,
    "get_success_headers": _SERVICE,
    "lookup_value_regex": "name a path converter in `lookup_value_converter` (config/api/paths.py)",
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

_META = "declare each field: a resource is no ModelSerializer; its Meta has `read_only` and `read_only_fields`"

RESOURCE_NAMES: Mapping[str, str] = {
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
    "list_serializer_class": "a list shows each item by itself; change the items in `to_representation`",
}
"""The names that the Meta of a resource may not have."""

_VIEWS = frozenset(GenericViewSet.__mro__)
_RESOURCES = frozenset(serializers.Serializer.__mro__)


_refuse = field_types.refuse


def _own(cls: type, known: Container[type]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that a class and its bases define, except the bases in `known`. Mixins are included."""
    for base in cls.__mro__:
        if base not in known:
            yield from vars(base).items()


def check_view(cls: type) -> None:
    """Raise `ImproperlyConfigured` if a view has a name of `VIEW_NAMES`, or an action with one of `DECORATORS`."""
    for name, value in _own(cls, _VIEWS):
        if name in VIEW_NAMES:
            _refuse(cls.__name__, name, VIEW_NAMES[name])
        if isinstance(value, FunctionType):
            for word in vars(value).keys() & set(DECORATORS):
                _refuse(f"{cls.__name__}.{name}", f"@{word}", _DECLARED)


def check_resource(cls: type[serializers.Serializer]) -> None:
    """Raise `ImproperlyConfigured` if a resource has a name without effect, or a field that is not supported."""
    for name, _ in _own(cls, _RESOURCES):
        if name in RESOURCE_NAMES:
            _refuse(cls.__name__, name, RESOURCE_NAMES[name])
    meta = getattr(cls, "Meta", None)
    for name in META_NAMES:
        if hasattr(meta, name):
            _refuse(f"{cls.__name__}.Meta", name, META_NAMES[name])
    names = {name.rstrip("_") for name in cls._declared_fields}
    for name in sorted(set(getattr(meta, "read_only_fields", ())) - names):
        raise ImproperlyConfigured(f"{cls.__name__}.Meta.read_only_fields: there is no field `{name}`.")
    for name, field in cls._declared_fields.items():
        field_types.check_field(f"{cls.__name__}.{name}", field)
        for within in (field, getattr(field, "child", None)):
            if isinstance(within, serializers.Serializer):
                check_resource(type(within))  # a serializer of another kit is checked only here
