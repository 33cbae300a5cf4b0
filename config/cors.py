"""Calls of browsers from other origins."""

from collections.abc import Awaitable

from corsheaders.middleware import CorsMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OnlyWithOrigin(CorsMiddleware):
    """django-cors-headers for requests with an ``Origin`` header. Most requests have none, and bypass it.

    Answers without it need no ``Vary: Origin``: every origin gets the same answer, ``*``.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if "HTTP_ORIGIN" not in request.META:
            return self.get_response(request)
        return super().__call__(request)
