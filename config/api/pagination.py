"""Pages: ``page`` from 1, ``page_size`` 25..500, and the envelope around them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.paths import MAX_ID
from config.errors import Problems

MIN_PAGE_SIZE, MAX_PAGE_SIZE, DEFAULT_SIZE = 25, 500, 100
NUMBER = re.compile(r"[0-9]+", re.ASCII)
DIGITS = len(str(MAX_ID))
PAGE = {
    "page": {"type": "integer", "description": "The number of this page, from 1.", "minimum": 1},
    "pages": {"type": "integer", "description": "How many pages there are, at least 1.", "minimum": 1},
    "results": {"type": "integer", "description": "The number of items on all pages.", "minimum": 0},
}


@dataclass(frozen=True, slots=True)
class Page:
    """The page number and the page size that a request asks for."""

    number: int = 1
    size: int = DEFAULT_SIZE

    @property
    def offset(self) -> int:
        return min((self.number - 1) * self.size, MAX_ID - self.size)  # offset plus size must fit a bigint

    def envelope(self, data: list[Any], total: int) -> dict[str, Any]:
        """Return the body of a list. `total` counts the whole collection. A page after the last one has no data."""
        pages = -(-total // self.size) or 1
        return {"data": data, "page": self.number, "pages": pages, "results": total}


FIRST = Page()
ONE_ROW = Page(size=1)
"""The page to read if only the total is needed."""


class EnvelopePagination(BasePagination):
    """Pages in the contract's envelope: ``{"data": […], "page": 1, "pages": 3, "results": 250}``.

    A page after the last one has no data. A parameter out of bounds raises `Invalid` (400), naming the parameter.
    """

    page_query_param = "page"
    page_size_query_param = "page_size"
    page_size = DEFAULT_SIZE
    min_page_size = MIN_PAGE_SIZE
    max_page_size = MAX_PAGE_SIZE

    page: Page
    total: int

    def read(self, query: Mapping[str, str]) -> Page:
        """Read the requested page number and page size from the query parameters."""
        problems = Problems()
        number = _number(query.get(self.page_query_param, "1"))
        size = _number(query.get(self.page_size_query_param, str(self.page_size)))
        if number is None or number < 1:
            problems.add(self.page_query_param, f"{self.page_query_param} must be at least 1")
        if size is None or not self.min_page_size <= size <= self.max_page_size:
            reason = f"{self.page_size_query_param} must be {self.min_page_size}-{self.max_page_size}"
            problems.add(self.page_size_query_param, reason)
        problems.raise_any()
        return Page(number or 1, size or self.page_size)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Return the rows of the page that the request asks for. Two statements: the total, and the rows."""
        self.page = self.read(request.query_params)
        self.total = queryset.count()
        return list(queryset[self.page.offset : self.page.offset + self.page.size])

    def get_paginated_response(self, data: Any) -> Response:
        return Response(self.page.envelope(data, self.total))

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a page, from the schema of its items."""
        data = {**schema, "description": "The items of this page.", "maxItems": self.max_page_size}
        return {"type": "object", "properties": {"data": data, **PAGE}, "required": ["data", *PAGE]}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Return the query parameters of a list as the OpenAPI document has them."""
        number = {"type": "integer", "minimum": 1, "default": 1}
        size = {
            "type": "integer",
            "minimum": self.min_page_size,
            "maximum": self.max_page_size,
            "default": self.page_size,
        }
        return [
            _parameter(self.page_query_param, number, "The number of the page, from 1."),
            _parameter(self.page_size_query_param, size, "The number of items on a page."),
        ]


def _parameter(name: str, schema: dict[str, Any], about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


def _number(text: str) -> int | None:
    """Return the number in `text`, or None if it is none. A number with too many digits becomes the maximum."""
    if not NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= DIGITS else MAX_ID
