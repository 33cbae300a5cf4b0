"""All routes of the API, from the URLconf."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from config.api.access import Scope
from config.api.operations import BY_ACTION, Operation
from config.api.ordering import orders_of
from config.api.serializers import Resource
from config.api.views import GenericViewSet, UnknownPath
from config.filters import Filter

PARAMETER = re.compile(r"<(\w+):(\w+)>")


@dataclass(frozen=True)
class Route:
    """One method of one path under /v4."""

    method: str
    path: str
    action: str
    view: Any

    @property
    def operation(self) -> Operation:
        return self.view.operations[self.action]

    @property
    def scope(self) -> Scope:
        return self.operation.scope

    @property
    def grant(self) -> str:
        return self.operation.grant

    @property
    def serializer(self) -> Any:
        """Return the serializer of the view."""
        return self.view.serializer_class

    @property
    def filters(self) -> dict[str, Filter]:
        """Return the filters of the list, by their names in requests."""
        filterset = self.view.filterset_class
        return filterset.base_filters if filterset else {}

    @property
    def orders(self) -> dict[str, str | None]:
        """Return the fields that the list can be ordered by, with their ORM paths."""
        return orders_of(self.serializer, self.view.filterset_class)

    @property
    def parameters(self) -> list[str]:
        return [name for _, name in PARAMETER.findall(self.path)]

    def fill(self, values: dict[str, Any]) -> str:
        """Return the path with its parameters replaced."""
        return PARAMETER.sub(lambda match: str(values[match[2]]), self.path)

    @property
    def documented(self) -> str:
        """Return the path as the OpenAPI document writes it."""
        return PARAMETER.sub(r"{\2}", self.path)

    def __str__(self) -> str:
        return f"{self.method.upper():6} {self.documented}"


def patterns(prefix: str = "", resolver: URLResolver | None = None) -> Iterator[tuple[str, URLPattern]]:
    for pattern in (resolver or get_resolver()).url_patterns:
        path = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from patterns(path, pattern)
        else:
            yield path, pattern


def routes() -> list[Route]:
    """Return every route under /v4 except the one for unknown paths."""
    found = []
    for path, pattern in patterns():
        view = getattr(pattern.callback, "cls", None)
        if not path.startswith("v4/") or view is UnknownPath:
            continue
        assert issubclass(view, GenericViewSet), f"{path} is no GenericViewSet of ours"
        actions = pattern.callback.actions.items()
        found += [Route(method, f"/{path}", action, view) for method, action in actions if method != "head"]
    return sorted(found, key=str)


def request_of(route: Route) -> type[Resource] | None:
    """Return the resource that validates the route's body."""
    declared = route.operation.request
    return route.serializer if declared is BY_ACTION else declared


def lists() -> list[Route]:
    """Return the routes that answer a page of a collection."""
    return [route for route in routes() if route.action == "list"]


def reachable(route: Route, values: dict) -> bool:
    """Tell whether these values of path parameters name an object for the route."""
    return set(route.parameters) <= set(values)
