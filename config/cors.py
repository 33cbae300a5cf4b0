"""Calls of browsers from other origins."""

from collections.abc import Awaitable

from corsheaders.middleware import CorsMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OnlyWithOrigin(CorsMiddleware):
    """django-cors-headers for the requests that are such calls. Most requests are none, and are let through.

    Their answers need no ``Vary: Origin``: any origin is answered the same, ``*``.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if "HTTP_ORIGIN" not in request.META:
            return self.get_response(request)
        return super().__call__(request)
