"""Names that have a meaning in Django and DRF and none in this kit: refused when the class is made.

DRF's policies and generic views work by attributes that the kit's views never read, and its serializers render by
methods that the kit never calls. Such a name would have no effect and raise no error: a view with
``permission_classes = [IsAdmin]`` would be open. So each is refused with a sentence that names ours.
docs/adding-an-endpoint.md has all of them in a table.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework import serializers
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

_GRANT = "declare the action's `scopes` and `grants` (config/api/access.py)"
_LIMIT = "name a limit of the setting RATE_LIMITS in `throttle`"
_FILTER = "declare `filterset_class`, a FilterSet of the app's filters (config/filters/)"
_PAGE = "all lists have the one pagination of config/api/pagination.py"
_TOKEN = "all views take the tokens of accounts/authentication.py"
_RESOURCE = "declare `resource`, and in `requests` the bodies and in `responses` the answers that differ from it"
_JSON = "answers are JSON; an action may return an HttpResponse of its own"
_BODY = "bodies are JSON objects; an action may read `request.body` itself (accounts/api/oauth_clients.py does)"
_ROWS = "declare `objects(actor, path)`, a static method that returns the rows of the caller"
_OBJECT = "declare `lookup`, the column that the path's `id` is matched with; `get_entity()` returns the object"
_SERVICE = "write the view's action `create`, `update` or `destroy`, which calls a function of the app's services"
_ERROR = "raise the classes of config/errors.py, which become the one error body"
_VERSION = "the version is part of the path"
_ROUTE = "write a line in the app's api/urls.py"

VIEW_NAMES: Mapping[str, str] = {
    "permission_classes": _GRANT,
    "get_permissions": _GRANT,
    "check_permissions": _GRANT,
    "check_object_permissions": _GRANT,
    "permission_denied": _ERROR,
    "authentication_classes": _TOKEN,
    "get_authenticators": _TOKEN,
    "perform_authentication": _TOKEN,
    "throttle_classes": _LIMIT,
    "throttle_scope": _LIMIT,
    "throttled": _LIMIT,
    "get_throttles": _LIMIT,
    "check_throttles": _LIMIT,
    "filter_backends": _FILTER,
    "filterset_fields": _FILTER,
    "search_fields": _FILTER,
    "ordering_fields": _FILTER,
    "filter_queryset": _FILTER,
    "pagination_class": _PAGE,
    "paginator": _PAGE,
    "paginate_queryset": _PAGE,
    "get_paginated_response": _PAGE,
    "serializer_class": _RESOURCE,
    "get_serializer": _RESOURCE,
    "get_serializer_class": _RESOURCE,
    "get_serializer_context": _RESOURCE,
    "queryset": _ROWS,
    "get_queryset": _ROWS,
    "get_object": _OBJECT,
    "lookup_field": _OBJECT,
    "lookup_url_kwarg": _OBJECT,
    "lookup_value_regex": _OBJECT,
    "perform_create": _SERVICE,
    "perform_update": _SERVICE,
    "perform_destroy": _SERVICE,
    "get_success_headers": _SERVICE,
    "renderer_classes": _JSON,
    "get_renderers": _JSON,
    "get_renderer_context": _JSON,
    "content_negotiation_class": _JSON,
    "get_content_negotiator": _JSON,
    "perform_content_negotiation": _JSON,
    "get_format_suffix": _JSON,
    "parser_classes": _BODY,
    "get_parsers": _BODY,
    "get_parser_context": _BODY,
    "versioning_class": _VERSION,
    "determine_version": _VERSION,
    "metadata_class": "OPTIONS answers the methods alone; docs/openapi.yaml describes them",
    "get_exception_handler": _ERROR,
    "get_exception_handler_context": _ERROR,
    "get_authenticate_header": _ERROR,
    "raise_uncaught_exception": _ERROR,
}
"""The names that a view may not have, each with what to write instead."""

_VALUE = (
    "output is compiled from declared fields: write `Computed`, `Annotated` or `Constant` (config/api/fields.py)"
)
_META = "declare each field: a resource is no ModelSerializer; its Meta has `read_only`"

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

DECORATORS: Mapping[str, str] = {"action": _ROUTE}
"""The decorators that an action may not have, besides those that set a name of `VIEW_NAMES`."""

_VIEWS = frozenset({*APIView.__mro__, *ViewSetMixin.__mro__})
_RESOURCES = frozenset(serializers.Serializer.__mro__)


def _refuse(where: str, word: str, advice: str) -> None:
    raise ImproperlyConfigured(f"{where}: `{word}` is not supported; {advice}.")


def _own(cls: type, known: Container[type]) -> Iterator[tuple[str, Any]]:
    """What a class and its bases define, those of `known` left out. A mixin is looked into as well."""
    for base in cls.__mro__:
        if base not in known:
            yield from vars(base).items()


def check_view(cls: type) -> None:
    """Raise `ImproperlyConfigured` if a view has a name of `VIEW_NAMES`, or an action with a decorator of DRF's."""
    for name, value in _own(cls, _VIEWS):
        if name in VIEW_NAMES:
            _refuse(cls.__name__, name, VIEW_NAMES[name])
        if isinstance(value, FunctionType):
            _check_action(f"{cls.__name__}.{name}", value)


def _check_action(where: str, action: FunctionType) -> None:
    """DRF's decorators of functions leave their argument on the function; `@action` leaves its methods."""
    for name in vars(action):
        if name in VIEW_NAMES:
            _refuse(where, f"@{name}", VIEW_NAMES[name])
    if hasattr(action, "mapping"):
        _refuse(where, "@action", DECORATORS["action"])


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
