"""The admin's site."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse


class Site(admin.AdminSite):
    """Django's site, which answers 400 to a value that no column can hold (a NUL, a number of thirty digits)."""

    site_header = "Skerry"
    site_title = "Skerry admin"
    index_title = "Administration"
    site_url = "/docs"
    empty_value_display = "–"

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return super().admin_view(refusing_impossible_values(view), cacheable)


def refusing_impossible_values(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer 400 where the database refuses a value: Django's admin looks most values up unchecked. The response is
    rendered in here, since widgets look their values up when they are rendered."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except DataError as error:
            raise BadRequest("No such value is possible.") from error

    return answered
