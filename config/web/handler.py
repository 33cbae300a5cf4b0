"""The WSGI handler and the request class that it makes."""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

from config.web.headers import media_type


class Request(WSGIRequest):
    """Django's request, decoded as UTF-8 whatever the charset in ``Content-Type``.

    No media type that is read here has a charset (RFC 8259, 11; RFC 7578, 5.1; the URL standard for forms). Django
    would decode the query and forms with the Python codec that the charset names, ``base64`` among them. It would
    fail before there is a request that could be answered.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        written = meta.get("CONTENT_TYPE", "")
        try:
            self.content_type, self.content_params = parse_header_parameters(written)
        except (ValueError, LookupError):
            # Undecodable parameters: code that reads them would fail later.
            self.content_type, self.content_params = media_type(written), {}
            meta["CONTENT_TYPE"] = self.content_type


class Handler(WSGIHandler):
    """Makes a `Request` from the server's WSGI environment."""

    request_class = Request
