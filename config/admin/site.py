"""The admin's site."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, URLResolver, path

from config.admin import search
from config.admin.tasks import Task


class Site(admin.AdminSite):
    """Django's site, which answers 400 to a value that no column can store (a NUL, a number of thirty digits)."""

    site_header = "Skerry"
    site_title = "Skerry admin"
    index_title = "Administration"
    site_url = "/docs"
    empty_value_display = "–"

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own = [path(address, self.admin_view(view), name=name) for name, address, view in _own_pages]
        return [path("search/", self.admin_view(self.search), name="search"), *own, *super().get_urls()]

    def search(self, request: HttpRequest) -> HttpResponse:
        """Show the search page."""
        return search.page(request, self.each_context(request))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """Group the entries by task, not by app. The page of an app, `app_label`, has the entries of that app."""
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        groups: dict[Task, list[dict[str, Any]]] = {task: [] for task in Task}
        for entry in (entry for app in apps for entry in app["models"]):
            groups[cast(Any, self._registry[entry["model"]]).task].append(entry)
        return [
            {"name": task.label, "app_label": task.value, "models": sorted(found, key=lambda entry: entry["name"])}
            for task, found in groups.items()
            if found
        ]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return super().admin_view(refusing_impossible_values(view), cacheable)


View = Callable[..., HttpResponse]
_own_pages: list[tuple[str, str, View]] = []


def own_page(name: str, address: str) -> Callable[[View], View]:
    """Register a view as a page that belongs to no model, at ``/admin/<address>``.

    The view checks permissions itself.
    """

    def register(view: View) -> View:
        _own_pages.append((name, address, view))
        return view

    return register


def refusing_impossible_values(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer 400 where the database refuses a value: Django's admin looks most values up unchecked.

    The response is rendered in here, since widgets look up their values during rendering.
    """

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except DataError as error:
            raise BadRequest(
                "A value in the address or in the form is not possible. Correct it, and try again."
            ) from error

    return answered
