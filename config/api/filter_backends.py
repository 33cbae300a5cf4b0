"""The filter backend of all lists."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request

from config.api.filters import Filter, read_header, read_query


class XFilterBackend(BaseFilterBackend):
    """Filters and orders a list by the ``X-Filter`` header and by query parameters.

    Raises `Invalid` (400) for a filter that is not valid.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet, view: Any) -> QuerySet:
        return self.apply(self.read(request, view) or Filter(), queryset, view)

    def read(self, request: Request, view: Any) -> Filter | None:
        """Read the filter of a request. None if it has none: then the list needs no SQL of its own."""
        header = request.META.get("HTTP_X_FILTER")
        query = request.query_params if request.META.get("QUERY_STRING") else None
        if not header and not query:
            return None
        resource = view.get_serializer_class()
        fields = resource.filterable()
        wanted = read_header(header, fields, resource.orderable()) if header else Filter()
        if query:
            wanted.condition &= read_query(query, fields, resource.paths())
        return wanted or None

    def apply(self, wanted: Filter, queryset: QuerySet, view: Any) -> QuerySet:
        """Return the rows that a filter asks for, in its order and then the view's."""
        return queryset.filter(wanted.condition).order_by(*self.order_of(wanted, view))

    def order_of(self, wanted: Filter, view: Any) -> tuple[str, ...]:
        """Return the columns of a filter's order, then those of the view's own."""
        return (wanted.ordering, *view.ordering) if wanted.ordering else view.ordering
