"""Cross-origin requests of browsers."""

import re
from collections.abc import Awaitable, Callable

from corsheaders.middleware import CorsMiddleware
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.web.headers import add_headers, prepared


class EveryAnswer(CorsMiddleware):
    """django-cors-headers, which answers preflights. Every other answer has its headers, with or without
    ``Origin``.

    They are the same for every origin, so no answer needs ``Vary: Origin``, and they are prepared once.
    """

    get_response: Callable[[HttpRequest], HttpResponse]

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        super().__init__(get_response)
        self.applies = re.compile(settings.CORS_URLS_REGEX).match
        self.headers = prepared(
            Access_Control_Allow_Origin="*",
            Access_Control_Allow_Methods=", ".join(settings.CORS_ALLOW_METHODS),
            Access_Control_Allow_Headers=", ".join(settings.CORS_ALLOW_HEADERS),
            Access_Control_Expose_Headers=", ".join(settings.CORS_EXPOSE_HEADERS),
        )

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if request.method == "OPTIONS" and self.check_preflight(request) is not None:
            kept = str(settings.CORS_PREFLIGHT_MAX_AGE)
            response = HttpResponse(headers={"Content-Length": "0", "Access-Control-Max-Age": kept})
        else:
            response = self.get_response(request)
        if self.applies(request.path_info):
            add_headers(response, self.headers)
        return response
