"""`GenericViewSet`: DRF's hooks of a view, with the rows that exist for a caller and the bodies of the contract."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self

from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer

from config.api.admission import A, Admission, M
from config.api.filters import XFilterBackend
from config.api.operations import BY_ACTION
from config.api.ordering import check_unordered
from config.api.pagination import EnvelopePagination, Page
from config.api.serializers import Body, Resource
from config.db.statements import SymbolicRequest
from config.errors import Missing
from config.filters import FilterSet


class GenericViewSet(Admission[A, M], Generic[A, M]):
    """Base of all views of the API: DRF's `GenericViewSet`, whose rows are those of the caller.

    Subclasses declare `serializer_class` and `queryset`, or define `get_queryset()`, and each of their actions
    (`config.api.operations`). An object that is not in `get_queryset()` is a 404. Views name their actor and their
    model for the type checker: ``GenericViewSet[Actor, Instance]``.
    """

    filter_backends = (XFilterBackend,)
    filterset_class: ClassVar[type[FilterSet] | None] = None
    """The filters of the list."""
    pagination_class = EnvelopePagination
    ordering: ClassVar[tuple[str, ...]] = ("id",)
    """The columns by which lists are ordered. An `order_by` of the queryset is refused: it would have no effect."""
    lane_of_list: ClassVar[str | None] = None
    """The lane of `list` without a filter (`config.server.lanes`). None: the event loop answers it."""
    loads_answer: bool = False
    """Whether `get_object` reads all columns that the serializer shows. `RetrieveViewSet.retrieve` turns it on."""
    lookup_url_kwarg = "id"
    lookup_value_converter: ClassVar[str] = "id"
    """The path converter of the parameter ``id`` (`config.api.paths`)."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.filterset_class is not None and not issubclass(cls.filterset_class, FilterSet):
            raise ImproperlyConfigured(f"{cls.__name__}.filterset_class is no FilterSet of config.filters")
        if isinstance(cls.queryset, QuerySet):
            check_unordered(cls, cls.queryset)

    viewer: Any = None
    """The caller as far as `get_queryset` may know it. While SQL is compiled, a `SymbolicActor` takes its place."""

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        self.viewer = self.get_viewer()

    def get_viewer(self) -> A | None:
        """Return the caller as far as `get_queryset` may know it."""
        return self.caller

    @classmethod
    def outside_of_requests(cls, action: str, viewer: Any, path: Mapping[str, Any]) -> Self:
        """Return a view without a request, to read the rows of an action, a viewer and a path."""
        view = cls()
        request = SymbolicRequest(viewer)
        declared = cls.operations[action]
        vars(view).update(
            action=action, operation=declared, kwargs=path, request=request, caller=viewer, viewer=viewer
        )
        return view

    def get_queryset(self) -> QuerySet[M]:
        """Return the rows that exist for the caller: the rows of `queryset` that are visible to the caller.

        An override may use `viewer`, `kwargs` and `action`, and may branch on ``viewer.restricted`` and ``viewer is
        None``: its SQL is compiled once for all callers (`config.api.compiled`). If it uses anything else of the
        request, the view answers in DRF's ordinary way, which is slower.
        """
        rows: Any = super().get_queryset()
        if not hasattr(rows, "visible_to"):
            raise ImproperlyConfigured(f"{type(self).__name__}: define get_queryset(); the rows have no owner")
        return rows.visible_to(self.viewer)

    def get_parent_queryset(self) -> QuerySet[Any] | None:
        """Return the object that the path names before a nested collection, as a queryset. None for a collection at
        the top.

        If the object does not exist, lists and objects under it are a 404. Access to it decides about access to
        them.
        """
        return None

    def get_object(self) -> M:
        """Return the object that the path names.

        Raises `Missing` (404). Raises `PermissionDenied` (403) if the user's access to the object, or to its
        parent, is too low for the action.
        """
        rows = self.get_queryset()
        if self.loads_answer:
            rows = self.with_annotations(rows)
        found = self._first(rows.filter(**{self.lookup_field: self.kwargs[self.lookup_url_kwarg]}))
        if self.get_parent_queryset() is not None:
            self.get_parent()
        self.check_object_permissions(self.request, found)
        return found

    def get_parent(self) -> Any:
        """Return the object of `get_parent_queryset()`, with the same checks as `get_object`."""
        rows = self.get_parent_queryset()
        if rows is None:
            raise ImproperlyConfigured(f"{type(self).__name__}: define get_parent_queryset()")
        found = self._first(rows)
        self.check_object_permissions(self.request, found)
        return found

    def check_parent(self) -> None:
        """Raise `Missing` if the parent of an empty list does not exist."""
        rows = self.get_parent_queryset()
        if rows is not None and not rows.exists():
            raise Missing

    def _first(self, rows: QuerySet) -> Any:
        found = rows.first()
        if found is None:
            raise Missing
        return found

    def page_asked_for(self) -> Page:
        """Return the page number and size of the request. Raises `Invalid` (400) for parameters out of bounds."""
        paginator: Any = self.paginator
        return paginator.read(self.request.query_params)

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        """Return the rows of a list that the request asks for, with the columns that its serializer shows."""
        return super().filter_queryset(self.with_annotations(queryset))

    def with_annotations(self, queryset: QuerySet[M]) -> QuerySet[M]:
        serializer = self.get_serializer_class()
        return serializer.select(queryset) if issubclass(serializer, Resource) else queryset

    @property
    def shape(self) -> Any:
        """The columns and the function that render the answer of the action."""
        return self.get_serializer_class().shape()  # type: ignore[attr-defined] # of a `Resource`

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        """Return a serializer: with ``data``, the serializer of the action's body, else the serializer of its
        answer.
        """
        found = self.get_request_serializer_class() if "data" in kwargs else self.get_serializer_class()
        kwargs.setdefault("context", self.get_serializer_context())
        return found(*args, **kwargs)

    def get_serializer_class(self) -> type[BaseSerializer]:
        """Return the serializer of the action's answer: the action's own, or else the view's."""
        declared = self.operation.response
        if isinstance(declared, type) and issubclass(declared, BaseSerializer):
            return declared
        return super().get_serializer_class()

    def get_request_serializer_class(self) -> Any:
        """Return the serializer of the action's body: the action's own, or else the view's."""
        declared = self.operation.request
        return self.serializer_class if declared is BY_ACTION else declared

    def validated(self, partial: bool = False) -> dict[str, Any]:
        """Return the body of the request, by the columns of its fields. Raises an error that names all invalid
        fields.

        Use it if the service checks nothing in the body. Other services take a `body`, so that one answer names all
        errors. ``partial`` is for PUT: fields that are not sent keep their values.
        """
        return self.get_request_serializer_class().validated(self.request.data, partial)

    def body(self, partial: bool = False) -> Body:
        """Return the valid part of the request's body, with the problems of the rest for the service to raise."""
        return self.get_request_serializer_class().read_body(self.request.data, partial)
