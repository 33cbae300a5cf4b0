"""SQL that is compiled once for a view's `list` and `retrieve`, from its `get_queryset`.

`CompiledViewSet.compiled` decides whether this is possible. There is no statement in these cases:

- The view overrides a hook that the compiled statement replaces (`HOOKS`).
- For `retrieve`, a permission class has a `has_object_permission` of its own, or a restricted user needs the grant
  `READ_WRITE`.
- The resource overrides a method that DRF calls when it serializes.
- The queryset depends on more than the caller and the path.

Such a view answers in DRF's ordinary way.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.permissions import BasePermission

from config.api.access import READ_WRITE
from config.api.admission import A, M
from config.api.generics import GenericViewSet
from config.api.operations import BY_ACTION
from config.api.ordering import check_unordered
from config.api.permissions import HasGrant
from config.api.serializers import Resource
from config.db import statements

ANSWER = frozenset(
    {
        "get_serializer", "get_serializer_class", "get_serializer_context", "with_annotations",
        "renderer_classes", "get_renderers", "get_renderer_context", "perform_content_negotiation",
        "get_content_negotiator", "content_negotiation_class",
    }
)  # fmt: skip
HOOKS = {
    "list": ANSWER
    | {
        "filter_backends", "filter_queryset", "pagination_class", "paginator", "paginate_queryset",
        "get_paginated_response",
    },
    "retrieve": ANSWER | {"get_object", "get_permissions", "check_object_permissions"},
}  # fmt: skip
"""The names that the fast way of an action replaces."""
GIVEN = frozenset(
    {"queryset", "serializer_class", "permission_classes", "ordering", "lookup_field", "lookup_url_kwarg"}
)
"""The attributes that a statement is made from. If `as_view` or `@action` sets them, they belong to one route."""
WATCHED = {read: hooks | GIVEN for read, hooks in HOOKS.items()}
OF_OBJECTS = (BasePermission.has_object_permission, HasGrant.has_object_permission)
"""The checks of an object that always pass for a read."""


@dataclass(frozen=True, slots=True)
class Read:
    """The SQL of a read, and the shape of its rows."""

    statement: statements.Statement
    shape: Any


class CompiledViewSet(GenericViewSet[A, M]):
    """A viewset that keeps a statement for each of its reads, each action and each kind of caller."""

    _reads: ClassVar[dict[tuple[str, str, bool | None], Read | None]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._reads = {}
        if isinstance(cls.queryset, QuerySet) and cls.get_queryset is GenericViewSet.get_queryset:
            cls._check_columns(cls.queryset)

    @classmethod
    def _check_columns(cls, queryset: QuerySet) -> None:
        """Raise `ImproperlyConfigured` if a read shows the view's serializer, and the rows lack a column of it."""
        shown: Any = cls.serializer_class
        own = (name for name, each in cls.operations.items() if name in HOOKS and each.response is BY_ACTION)
        if not any(map(cls.takes_fast_way, own)) or not isinstance(shown, type):
            return
        if issubclass(shown, Resource) and shown.is_compiled() and hasattr(queryset, "visible_to"):
            with suppress(statements.DependsOnRequest):
                shown.shape().select(queryset.visible_to(statements.SymbolicActor(restricted=False)))

    def kept(self, read: str) -> Read | None:
        """Return the compiled `list` or `retrieve` for this kind of caller, or None if there is none.

        Another action may call `list` or `retrieve`. Then `get_queryset` and the serializer are those of that
        action.
        """
        if not WATCHED[read].isdisjoint(vars(self)):
            return None
        viewer = self.viewer
        key = (read, self.action, None if viewer is None else viewer.restricted)
        if key not in self._reads:
            self._reads[key] = self.compiled(read, viewer)
        return self._reads[key]

    def compiled(self, read: str, viewer: A | None) -> Read | None:
        """Compile a read for callers like `viewer`."""
        if not self.takes_fast_way(read):
            return None
        if read == "retrieve" and self.operation.grant == READ_WRITE and viewer is not None and viewer.restricted:
            return None  # `HasGrant` needs the object
        serializer = self.get_serializer_class()
        if not (issubclass(serializer, Resource) and serializer.is_compiled()):
            return None
        try:
            shape = serializer.shape()
            return Read(self.compiled_for(read, shape, viewer), shape)
        except statements.DependsOnRequest:
            return None

    def compiled_for(self, read: str, shape: Any, viewer: A | None) -> statements.Statement:
        """Compile the statement of a read. Raises `DependsOnRequest` if it would hold for this request alone."""
        symbolic = None if viewer is None else statements.SymbolicActor(viewer.restricted)
        path = statements.SymbolicPath()
        view = self.outside_of_requests(self.action, symbolic, path)
        rows = shape.select(view.get_queryset())
        if read == "list":
            check_unordered(type(self), rows)
            return statements.page_of(rows, shape.columns, view.ordering)
        wanted = rows.filter(**{view.lookup_field: path[view.lookup_url_kwarg]}).order_by()
        return statements.Statement.of(wanted.values_list(*shape.columns))

    @classmethod
    def takes_fast_way(cls, read: str) -> bool:
        """Tell whether the view leaves all hooks of a read as they are."""
        if any(getattr(cls, name) is not getattr(GenericViewSet, name) for name in HOOKS[read]):
            return False
        return read != "retrieve" or all(
            each.has_object_permission in OF_OBJECTS for each in cls.permission_classes
        )

    def bindings(self, path: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a statement's open parameters."""
        return statements.bindings(self.viewer, path)
