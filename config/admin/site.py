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
    """Django's. What no column can hold (a NUL, a number of thirty digits) is answered 400 wherever it comes in."""

    site_header = "Skerry"
    site_title = "Skerry admin"
    index_title = "Administration"
    site_url = "/docs"
    empty_value_display = "–"

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return super().admin_view(refusing_impossible_values(view), cacheable)


def refusing_impossible_values(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Django's admin looks most values up as they come. Rendered here, since widgets look theirs up when shown."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except DataError as error:
            raise BadRequest("No such value is possible.") from error

    return answered
