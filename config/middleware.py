"""Middleware of every request. Kept cheap: a request of the API costs well under a millisecond."""

import logging
import re
import secrets
from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.api.responses import error_response
from config.logging import current_id, write_line

access = logging.getLogger("access")

Respond = Callable[[HttpRequest], HttpResponse]

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}").fullmatch
_SLASHES = re.compile(r"/{2,}")
_API = re.compile(r"/v4(?:beta)?(?:/|$)").match
_TAG = re.compile(r"(/+v4(?:beta)?/+tags)/(.{3,})", re.DOTALL).match
"""The path of a tag, and its label: no label is shorter."""
_LETS_IN = re.compile(r"^(/+password/+[^/]+/+|/+uploads/+images/+).+", re.DOTALL)
"""Paths that are as good as a password: links in mails, and upload addresses. Mistyped ones as well."""


def request_id(respond: Respond) -> Respond:
    """Give each request an id, answer it as ``X-Request-ID``, and write its line in the access log.

    The client's own ``X-Request-ID`` is used if it is one short word, so that a request can be followed
    through a proxy. The line holds no query string, header, body or secret part of a path: they may carry
    secrets. A view may name the caller for the line in ``request.actor_name``. A health check that finds
    all well leaves no line.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        started = perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        # Not reset afterwards: the next request of this thread sets its own.
        identity = given if _SANE_ID(given) else secrets.token_hex(16)
        current_id.set(identity)
        response = respond(request)
        response.headers["X-Request-ID"] = identity
        if access.isEnabledFor(logging.INFO) and not (request.path == "/healthz" and response.status_code == 200):
            _log_access(request, response, (perf_counter() - started) * 1000)
        return response

    return middleware


def _log_access(request: HttpRequest, response: HttpResponse, milliseconds: float) -> None:
    path = _LETS_IN.sub(r"\1…", request.path)
    # A path comes decoded, so it may hold line ends.
    path = path if path.isprintable() else repr(path)
    user = getattr(request, "actor_name", None)
    message = f"{request.method} {path} {response.status_code} {milliseconds:.1f} ms{f' {user}' if user else ''}"
    fields = {
        "method": request.method,
        "path": path,
        "status": response.status_code,
        "duration_ms": round(milliseconds, 1),
        "user": user,
    }
    if settings.PRODUCTION:
        write_line("access", message, fields)
    else:
        access.info("%s", message, extra=fields)


def with_length(respond: Respond) -> Respond:
    """Refuse a body without a ``Content-Length``: 411.

    In WSGI that header alone gives a body's length. Without it Django sees no body at all, and a change of nothing
    would be answered 200. In HTTP/2 no header tells such a body from none.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        meta = request.META
        if "HTTP_TRANSFER_ENCODING" in meta or (
            not meta.get("CONTENT_LENGTH")
            and request.method in ("POST", "PUT")
            and meta.get("SERVER_PROTOCOL") == "HTTP/2"
            and meta["wsgi.input"].read(1)
        ):
            return error_response([{"field": None, "reason": "Content-Length is required"}], 411)
        return respond(request)

    return middleware


def tidied(path: str) -> str:
    """The path without doubled and trailing slashes, which clients leave when they join paths."""
    return _SLASHES.sub("/", path).rstrip("/")


def tidy_api_paths(respond: Respond) -> Respond:
    """Tidy the paths of the API. A tag's label may have such slashes itself: the tags' view handles those."""

    def middleware(request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path[-1:] == "/" or "//" in path:
            tag = _TAG(path)
            tidy = f"{tidied(tag[1])}/{tag[2]}" if tag else tidied(path)
            if _API(tidy):
                request.path_info = tidy
                request.path = request.META.get("SCRIPT_NAME", "").rstrip("/") + tidy
        return respond(request)

    return middleware
