"""`list` and `retrieve`: DRF's, with a fast way below their hooks that returns the same bytes.

The fast way runs SQL that is compiled once for a view and a kind of caller (`config.api.compiled`). It reads a page
with its total in one round trip, and renders rows without model instances (`config.api.rendering`). If a view
overrides a hook that the fast way replaces, it answers in DRF's ordinary way automatically.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.conf import settings
from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import pagination
from config.api.admission import A, M
from config.api.compiled import CompiledViewSet
from config.api.filters import Criteria, XFilterBackend
from config.api.responses import JSONResponse
from config.db import prepared, statements
from config.errors import Missing
from config.filters import refuse

TOO_EXPENSIVE = (
    "This filter takes too long on so many objects. Use fewer conditions, fewer +contains, or another order."
)


@contextmanager
def refuse_expensive_filters() -> Iterator[None]:
    """Answer 400 instead of 503 if the database ended the statement of a filter."""
    try:
        yield
    except prepared.TookTooLong:
        raise refuse(TOO_EXPENSIVE) from None


def asks(request: Request) -> bool:
    """Tell whether a request has query parameters or an ``X-Filter`` header."""
    return bool(request.META.get("QUERY_STRING") or request.META.get("HTTP_X_FILTER"))


class ListViewSet(CompiledViewSet[A, M], mixins.ListModelMixin):
    """`list`: a page of the rows of `get_queryset`, in the contract's envelope."""

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of the collection."""
        asked = asks(request)
        # A filter of 64 KB takes long to compile, and its SQL takes long to run.
        with self.measured() if asked else nullcontext():
            kept = self.kept("list")
            if kept is None:
                return self.list_ordinarily(request)
            page = self.page_asked_for() if asked else pagination.FIRST
            wanted = XFilterBackend().read(request, self) if asked else None
            statement = kept.statement if wanted is None else self.filtered(wanted, kept.shape)
            within = None if wanted is None else settings.FILTER_TIMEOUT
            rows, total = self.read_page(statement, page, kwargs, within)
            return JSONResponse(page.envelope(kept.shape.page(rows), total))

    def list_ordinarily(self, request: Request) -> Response:
        """Answer `list` as DRF does: model instances, rendered by the serializer."""
        self.check_parent()
        limited: AbstractContextManager[None] = nullcontext()
        if request.META.get("HTTP_X_FILTER") or request.query_params:
            limited = prepared.ending_after(settings.FILTER_TIMEOUT)
        with refuse_expensive_filters(), limited:
            return super().list(request)

    def read_page(
        self, statement: statements.Statement, page: pagination.Page, path: dict[str, Any], within: float | None
    ) -> tuple[prepared.Rows, int]:
        """Return the rows of a page, and the number of rows on all pages.

        Raises `Missing` if the list is empty and its parent does not exist, and `Invalid` if the database needs
        longer than `within` seconds.
        """
        values = self.bindings(path)

        def run(page: pagination.Page) -> prepared.Rows:
            return statement.run({**values, "limit": page.size, "offset": page.offset}, within)

        with refuse_expensive_filters():
            if rows := run(page):
                return rows, rows[0][-1]
            self.check_parent()
            # Each row carries the total. A page after the last one has no rows, so read the first page.
            first = run(pagination.ONE_ROW) if page.number > 1 else ()
            return rows, first[0][-1] if first else 0

    def filtered(self, wanted: Criteria, shape: Any) -> statements.Statement:
        """Return the SQL of a filtered page. Every filter is different, so it is not kept."""
        # Without related objects: the rows have no use for them, and each copy of a queryset would copy them
        # deeply.
        rows = shape.select(self.get_queryset().select_related(None)).filter(wanted.condition)
        return statements.page_of(rows, shape.columns, wanted.order_of(self.ordering), kept=False)


class RetrieveViewSet(CompiledViewSet[A, M], mixins.RetrieveModelMixin):
    """`retrieve`: the object of `get_queryset` that the path names."""

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One object."""
        kept = self.kept("retrieve")
        if kept is None:
            self.kwargs = kwargs  # an action may return another object than its path names
            self.loads_answer = True
            return super().retrieve(request)
        rows = kept.statement.run(self.bindings(kwargs))
        if not rows:
            raise Missing
        return JSONResponse(kept.shape.one(rows[0]))
