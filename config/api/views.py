"""The viewsets of the API: DRF's, restricted to the rows of the caller. Apps import from here.

A request passes these stages in this order:

- `config.api.admission`: the caller (401), the rate limits (429), the method (405), the scope of the token (401)
  and the grant of the user (403)
- `config.api.generics`: the rows and the body
- `config.api.reading`: `list` and `retrieve`
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import access, pagination
from config.api.admission import NO_STORE, QUARTER_HOUR, A, M, expensive
from config.api.compiled import HOOKS
from config.api.filters import Criteria, XFilterBackend
from config.api.generics import GenericViewSet
from config.api.operations import operation
from config.api.reading import ListViewSet, RetrieveViewSet, asks, refuse_expensive_filters
from config.api.responses import JSONResponse
from config.db import prepared
from config.errors import Missing

__all__ = [
    "NO_STORE",
    "QUARTER_HOUR",
    "About",
    "GenericViewSet",
    "ListViewSet",
    "ReadOnlyModelViewSet",
    "RetrieveViewSet",
    "UnionViewSet",
    "UnknownPath",
    "expensive",
]


class ReadOnlyModelViewSet(ListViewSet[A, M], RetrieveViewSet[A, M]):
    """Provides `list` and `retrieve`. Other actions are methods of the subclass."""


class UnionViewSet(GenericViewSet[A, Any]):
    """Base of views whose list has objects of several tables.

    It takes one query for the page and one for the total. Both are built again for each request.
    """

    lane_of_list = "lists"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in (HOOKS["list"] | {"queryset", "get_queryset"}) & vars(cls).keys():
            raise ImproperlyConfigured(f"{cls.__name__}.{name} has no effect on a list of several tables")

    tables: ClassVar[Callable[[Any], Sequence[QuerySet[Any]]]]
    """The querysets that an actor may see. All have the columns of the serializer, with the same names."""

    def list(self, request: Request, **path: Any) -> Response:
        """One page, in the order of `ordering`: columns of the serializer."""
        if not asks(request):
            return self.united(Criteria(), pagination.FIRST)
        with self.measured():
            page = self.page_asked_for()
            wanted = XFilterBackend().read(request, self)
            if wanted is None:
                return self.united(Criteria(), page)
            with refuse_expensive_filters(), prepared.ending_after(settings.FILTER_TIMEOUT):
                return self.united(wanted, page)

    def united(self, wanted: Criteria, page: pagination.Page) -> Response:
        shape = self.shape
        first, *others = [
            shape.select(rows).filter(wanted.condition).order_by().values_list(*shape.columns)
            for rows in type(self).tables(self.actor)
        ]
        found = first.union(*others, all=True)
        rows: Iterable[Any] = found.order_by(*self.order(wanted))[page.offset : page.offset + page.size]
        data = [shape.one(row) for row in rows]
        return JSONResponse(page.envelope(data, found.count()))

    def order(self, wanted: Criteria) -> tuple[str, ...]:
        """Return the filter's order, then the view's, by columns of the union: a union has no other columns."""
        return tuple(map(self._column, wanted.order_of(self.ordering)))

    def _column(self, name: str) -> str:
        sign, name = name[: name.startswith("-")], name.removeprefix("-")
        return f"{sign}{name}" if name in self.shape.columns else f"{sign}utc_{name}"


class About(GenericViewSet):
    """``/v4`` itself: the name and version of the API, and the address of its documentation.

    The contract has no such operation. The document omits it, so that generated clients get no additional method.
    """

    schema = None

    @operation(access.PUBLIC, access.ANYONE)
    def about(self, request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "name": settings.SPECTACULAR_SETTINGS["TITLE"],
                "version": settings.API_REVISION,
                "documentation": f"{settings.SITE_URL}{reverse('docs')}",
                "openapi": f"{settings.SITE_URL}{reverse('openapi-json')}",
            }
        )


class UnknownPath(GenericViewSet):
    """Answers paths that no route matches: 404 in the error body, counted like any request."""

    schema = None

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)  # only to know which caller to count
        self.failure = None

    @operation(access.PUBLIC, access.ANYONE)
    def missing(self, request: Request, **path: Any) -> JSONResponse:
        raise Missing
