"""How requests come in from the server."""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Request(WSGIRequest):
    """Django's, whose text is UTF-8 whatever the charset in ``Content-Type``.

    No media type that is read here has such a parameter (RFC 8259, 11; RFC 7578, 5.1; the URL standard for forms).
    Django would read the query and forms by any codec of Python's that it names, ``base64`` among them, and fails
    before there is a request that could be answered.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        written = meta.get("CONTENT_TYPE", "")
        try:
            self.content_type, self.content_params = parse_header_parameters(written)
        except (ValueError, LookupError):
            # parameters that nobody can read, and that others would fail at later
            self.content_type, self.content_params = written.partition(";")[0].strip().lower(), {}
            meta["CONTENT_TYPE"] = self.content_type


class Handler(WSGIHandler):
    """Makes a `Request` of what the server hands over."""

    request_class = Request
