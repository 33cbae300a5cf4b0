"""Counts of requests by the route that answered them. Their paths would make an unlimited number of series."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.monitoring.counts import Counter, Histogram

REQUESTS = Counter(
    "skerry_requests", "Requests that were answered, by method, route and status.", ("method", "route", "status")
)
SECONDS = Histogram(
    "skerry_request_seconds",
    "The time of requests in their process, without the transfer of their bodies.",
    ("method", "route"),
)
ANY_METHOD = {401, 405}
"""Statuses that anonymous clients get for any method.

They are counted without the method: otherwise strangers could create a series for every pair of method and route,
and these are many more than the operations.
"""
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}
UNKNOWN = "unknown"
"""The route of paths that belong to no endpoint, and the method that no endpoint has."""
UNKNOWN_PATHS = {"v4/", "v4beta/"}
"""The routes of the patterns that match all other paths of the API (config/api/urls.py)."""
STATIC = "/static"
_PARAMETER = re.compile(r"<(?:[^>:]*:)?([^>]*)>")

_routes: dict[str, str] = {}


def count(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    method, route = method_of(request), route_of(request)
    if response.status_code in ANY_METHOD:
        method = UNKNOWN
    REQUESTS.add(method, route, str(response.status_code))
    SECONDS.observe(seconds, method, route)


def method_of(request: HttpRequest) -> str:
    return request.method if request.method in METHODS else UNKNOWN


def route_of(request: HttpRequest) -> str:
    """Return the pattern that the request's path matched."""
    match = request.resolver_match
    if match is not None:
        return _routes.get(match.route) or _routes.setdefault(match.route, _named(match.route))
    return STATIC if request.path.startswith(settings.STATIC_URL) else UNKNOWN


def _named(route: str) -> str:
    """Return ``/v4/regions/{region_id}`` for ``v4beta/regions/<str:region_id>``: operators see both as one
    route.
    """
    if route in UNKNOWN_PATHS:
        return UNKNOWN
    named = "/" + _PARAMETER.sub(r"{\1}", route)
    return re.sub(r"^/v4beta\b", "/v4", named)
