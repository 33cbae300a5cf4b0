"""Reading: lists and details as SQL that is compiled once, and lists of objects in several tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import QueryDict
from rest_framework.request import Request

from config.api import pagination
from config.api.admission import A, Admission
from config.api.filters import Criteria, XFilterBackend
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.db import prepared, statements
from config.errors import Missing
from config.filters import FilterSet, refuse

_no_query = QueryDict("", encoding="utf-8")

M = TypeVar("M", bound=Model)
TOO_DEAR = "This filter takes too long on so many objects. Use fewer conditions, fewer +contains, or another order."


@contextmanager
def refusing_dear_filters() -> Iterator[None]:
    """Have a filter whose statement the database ended answer 400 in place of 503."""
    try:
        yield
    except prepared.TookTooLong:
        raise refuse(TOO_DEAR) from None


class Reading(Admission[A], Generic[A, M]):
    """The part of a `ResourceViewSet` that answers `list` and `retrieve`."""

    resource: ClassVar[type[Resource]]
    responses: ClassVar[Mapping[str, Any]] = {}
    """The resource an action answers with; of actions other than list, retrieve, create, update: ``{}``."""
    filterset_class: ClassVar[type[FilterSet] | None] = None
    """The filters of the list: a class of the app's layer ``filters``."""
    ordering: ClassVar[tuple[str, ...]] = ("id",)
    lookup: ClassVar[str] = "pk"
    """The column that the path parameter ``id`` is matched with."""
    parent: ClassVar[Any] = None
    """Nested resources: a static method like `objects`, for the entity whose absence is a 404 of the list."""

    _statements: ClassVar[dict[tuple[str, bool | None], statements.Statement]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._statements = {}

    @staticmethod
    def objects(actor: Any, path: Mapping[str, Any]) -> QuerySet[M]:
        """The rows that exist for `actor` (None: no token) under the path's parameters.

        It is also called with a `SymbolicActor` and a `SymbolicPath`, to compile the SQL once: it may branch on
        ``actor.restricted`` and on ``actor is None``, and on nothing else of them.
        """
        raise NotImplementedError

    @classmethod
    def listed(cls, actor: Any, path: Mapping[str, Any]) -> QuerySet[M]:
        """Return the rows of `objects` that the list shows: all rows, unless a view overrides this method."""
        return cls.objects(actor, path)

    @property
    def viewer(self) -> A | None:
        """The caller that `objects` is asked with."""
        return self.caller

    def list(self, request: Request, **path: Any) -> JSONResponse:
        """One page of the collection."""
        query = request.query_params if request.META.get("QUERY_STRING") else _no_query
        if not query and not request.META.get("HTTP_X_FILTER"):
            return self.page(query, path)
        with self.measured():  # a filter of 64 KB takes long to compile, and its SQL to run
            return self.page(query, path)

    def page(self, query: QueryDict, path: Mapping[str, Any]) -> JSONResponse:
        page = pagination.read_page(query) if query else pagination.FIRST
        wanted = self.read_filter(query)
        rows = self.rows_of(wanted, page, path)
        total = rows[0][-1] if rows else self.total_of(wanted, page, path)
        return JSONResponse(page.envelope(self.resource.shape().page(rows), total))

    def total_of(self, wanted: Criteria | None, page: pagination.Page, path: Mapping[str, Any]) -> int:
        """Return the length of a list whose wanted page has no rows. Raises `Missing` if the parent is missing."""
        self.check_parent(path)
        # each row carries the total; a page after the last has no rows, so read the first page
        rows = self.rows_of(wanted, pagination.SHORTEST, path) if page.number > 1 else ()
        return rows[0][-1] if rows else 0

    def rows_of(self, wanted: Criteria | None, page: pagination.Page, path: Mapping[str, Any]) -> prepared.Rows:
        """The rows of a page. Raises `Invalid` where those of a filter take the database too long."""
        values = {**statements.bindings(self.viewer, path), "limit": page.size, "offset": page.offset}
        if wanted is None:
            return self.statement("list").run(values)
        with refusing_dear_filters():
            return self.filtered(wanted, path).run(values, within=settings.FILTER_TIMEOUT)

    def retrieve(self, request: Request, **path: Any) -> JSONResponse:
        """One object."""
        rows = self.statement("retrieve").run(statements.bindings(self.viewer, path))
        if not rows:
            raise Missing
        return JSONResponse(self.resource.shape().one(rows[0]))

    def read_filter(self, query: QueryDict) -> Criteria | None:
        """The request's filter, or None if there is none: then the list needs no SQL of its own."""
        if not query and not self.request.META.get("HTTP_X_FILTER"):
            return None
        return XFilterBackend().read(self.request, self)

    def statement(self, kind: str) -> statements.Statement:
        """The compiled SQL of `list` or `retrieve` for this kind of caller."""
        viewer = self.viewer
        key = (kind, None if viewer is None else viewer.restricted)
        found = self._statements.get(key)
        if found is None:
            symbolic = None if viewer is None else statements.SymbolicActor(viewer.restricted)
            found = self._statements[key] = self.compiled(kind, symbolic)
        return found

    def compiled(self, kind: str, actor: Any) -> statements.Statement:
        shape = self.resource.shape()
        path = statements.SymbolicPath()
        if kind == "list":
            rows = shape.select(self.listed(actor, path))
            return statements.page_of(rows, shape.columns, self.ordering)
        rows = shape.select(self.objects(actor, path)).filter(**{self.lookup: path["id"]}).order_by()
        return statements.Statement.of(rows.values_list(*shape.columns))

    def filtered(self, wanted: Criteria, path: Mapping[str, Any]) -> statements.Statement:
        """The SQL of a filtered page. Every filter is different, so it is not kept."""
        shape = self.resource.shape()
        rows = shape.select(self.listed(self.viewer, path)).filter(wanted.condition)
        return statements.page_of(rows, shape.columns, self.order_of(wanted), kept=False)

    def order_of(self, wanted: Criteria) -> tuple[str, ...]:
        """The columns of a filter's order, then those of the view's own."""
        return wanted.order_of(self.ordering)

    def check_parent(self, path: Mapping[str, Any]) -> None:
        """An empty list of something that does not exist is a 404."""
        if self.parent is not None and not self.parent(self.viewer, path).exists():
            raise Missing


class ReadingUnion(Reading[A, Any]):
    """Answers `list` from several tables: one query for the page and one for the total."""

    tables: ClassVar[Callable[[Any], Sequence[QuerySet[Any]]]]
    """The querysets that an actor may see. All have the columns of the resource, by the same names."""

    def list(self, request: Request, **path: Any) -> JSONResponse:
        """One page, in the order of `ordering`: columns of the resource."""
        if not request.query_params and not request.META.get("HTTP_X_FILTER"):
            return self.united(Criteria(), pagination.FIRST)
        with self.measured():
            page = pagination.read_page(request.query_params)
            wanted = self.read_filter(request.query_params)
            if wanted is None:
                return self.united(Criteria(), page)
            with refusing_dear_filters(), prepared.ending_after(settings.FILTER_TIMEOUT):
                return self.united(wanted, page)

    def united(self, wanted: Criteria, page: pagination.Page) -> JSONResponse:
        shape = self.resource.shape()
        first, *others = [
            shape.select(rows).filter(wanted.condition).order_by().values_list(*shape.columns)
            for rows in type(self).tables(self.actor)
        ]
        found = first.union(*others, all=True)
        rows: Iterable[Any] = found.order_by(*self.order(wanted))[page.offset : page.offset + page.size]
        data = [shape.one(row) for row in rows]
        return JSONResponse(page.envelope(data, found.count()))

    def order(self, wanted: Criteria) -> tuple[str, ...]:
        """The filter's order, then the view's, by the union's own columns: it has no others."""
        return tuple(map(self._column, self.order_of(wanted)))

    def _column(self, name: str) -> str:
        sign, name = name[: name.startswith("-")], name.removeprefix("-")
        return f"{sign}{name}" if name in self.resource.shape().columns else f"{sign}utc_{name}"
