"""SQL that is compiled once for a view's `list` and `retrieve`, from its `get_queryset`.

The view's own hooks say whether that is possible. If the view overrides one that the compiled statement stands for,
or its queryset depends on more of the request than the caller and the path, there is no statement, and the view
answers in DRF's ordinary way.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.permissions import BasePermission

from config.api.admission import A, M
from config.api.generics import GenericViewSet
from config.api.operations import BY_ACTION
from config.api.permissions import HasGrant
from config.api.serializers import Resource
from config.db import statements

ANSWER = frozenset(
    {
        "get_serializer", "get_serializer_class", "get_serializer_context", "with_annotations", "renderer_classes",
        "get_renderers", "get_renderer_context", "perform_content_negotiation", "get_content_negotiator",
        "content_negotiation_class",
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
"""The names that the fast way of an action stands for."""
COMPILED_IN = frozenset({"queryset", "serializer_class", "ordering", "lookup_field", "permission_classes"})
"""The attributes of the class that a statement is made of, or that allow it."""
OF_OBJECTS = (BasePermission.has_object_permission, HasGrant.has_object_permission)
"""The checks of an object that find nothing wrong with one that is only read."""


class CompiledViewSet(GenericViewSet[A, M]):
    """A viewset that keeps a statement for each of its reads and for each kind of caller."""

    _statements: ClassVar[dict[tuple[str, bool | None], statements.Statement | None]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._statements = {}

    def statement(self, action: str) -> statements.Statement | None:
        """Return the SQL of `list` or `retrieve` for this kind of caller, or None if there is none."""
        own = vars(self)
        if not (HOOKS[action].isdisjoint(own) and COMPILED_IN.isdisjoint(own)):  # set since the request came
            return None
        viewer = self.viewer
        key = (action, None if viewer is None else viewer.restricted)
        if key not in self._statements:
            self._statements[key] = self.compiled(action, viewer)
        return self._statements[key]

    def compiled(self, action: str, viewer: A | None) -> statements.Statement | None:
        """Compile the statement of an action for callers like `viewer`."""
        if not self.takes_fast_way(action):
            return None
        symbolic = None if viewer is None else statements.SymbolicActor(viewer.restricted)
        path = statements.SymbolicPath()
        view = self.outside_of_requests(action, symbolic, path)
        try:
            rows = view.get_queryset()
        except statements.DependsOnRequest:
            return None
        shape = view.shape
        rows = shape.select(rows)
        if action == "list":
            return statements.page_of(rows, shape.columns, view.ordering)
        wanted = rows.filter(**{view.lookup_field: path[view.lookup_url_kwarg]}).order_by()
        return statements.Statement.of(wanted.values_list(*shape.columns))

    @classmethod
    def takes_fast_way(cls, action: str) -> bool:
        """Tell whether the view leaves all hooks of an action as they are."""
        if any(getattr(cls, name) is not getattr(GenericViewSet, name) for name in HOOKS[action]):
            return False
        if action == "retrieve" and any(
            each.has_object_permission not in OF_OBJECTS for each in cls.permission_classes
        ):
            return False
        declared = cls.operations[action].response
        declared = cls.serializer_class if declared is BY_ACTION else declared
        return isinstance(declared, type) and issubclass(declared, Resource) and declared.is_compiled()

    def bindings(self, path: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a statement's open parameters."""
        return statements.bindings(self.viewer, path)
