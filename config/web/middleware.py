"""Middleware of every request. It must be cheap: a request of the API costs well under a millisecond."""

import io
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.api.responses import CONTENT_TYPE, error_response
from config.monitoring.requests import count, method_of, route_of
from config.processes.logging import current_id, current_subject, write_line
from config.processes.tracing import NOT_RECORDED, Span, span
from config.web.headers import media_type
from config.web.paths import is_api, normalized

access = logging.getLogger("access")

Respond = Callable[[HttpRequest], HttpResponse]

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}").fullmatch
_TAG = re.compile(r"(/+v4(?:beta)?/+tags)/(.{3,})", re.DOTALL).match
"""The path of a tag, and its label, which has at least 3 characters."""
_LETS_IN = re.compile(r"^(/+password/+[^/]+/+|/+token/+|/+uploads/+images/+).+", re.DOTALL)
"""Paths that give access like a password: links in mails and to tokens, upload addresses, and mistyped ones."""
WATCHERS = {"/healthz", "/livez", "/readyz", "/metrics"}
"""The paths that load balancers and Prometheus request every few seconds."""


def request_id(respond: Respond) -> Respond:
    """Give each request an id, return it as ``X-Request-ID``, and write the request's line in the access log.

    The client's own ``X-Request-ID`` is used if it is one short word, so that a request can be followed through a
    proxy. The line contains no query string, header, body or secret part of a path, because they may carry secrets.
    A view may name the caller for the line in ``request.caller``. Successful health checks and requests for metrics
    write no line. All requests are counted.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        started = perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        # Not reset afterwards: the next request of this thread sets its own.
        identity = given if _SANE_ID(given) else secrets.token_hex(16)
        current_id.set(identity)
        current_subject.set({})
        watched = request.path in WATCHERS
        with NOT_RECORDED if watched else span(method_of(request), "server") as traced:
            response = respond(request)
            _trace(traced, request, response, identity)
        response.headers["X-Request-ID"] = identity
        seconds = perf_counter() - started
        count(request, response, seconds)
        if access.isEnabledFor(logging.INFO) and not (watched and response.status_code == 200):
            _log_access(request, response, seconds * 1000)
        return response

    return middleware


def _trace(traced: Span, request: HttpRequest, response: HttpResponse, identity: str) -> None:
    """Describe the request by its route, because its path may contain secrets."""
    if traced is NOT_RECORDED:
        return
    method, route = method_of(request), route_of(request)
    traced.rename(f"{method} {route}")
    traced.note(
        {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": response.status_code,
            "skerry.request.id": identity,
        }
    )
    if response.status_code >= 500:
        traced.fail(str(response.status_code))


def _log_access(request: HttpRequest, response: HttpResponse, milliseconds: float) -> None:
    path = _LETS_IN.sub(r"\1…", request.path)
    # A path comes decoded, so it may contain line ends.
    path = path if path.isprintable() else repr(path)
    # On a page, use the user only if it was already read: reading it takes a query.
    caller = getattr(request, "caller", None) or getattr(request, "_cached_user", None)
    user = getattr(caller, "username", None) or None  # anonymous users on pages have an empty name
    message = f"{request.method} {path} {response.status_code} {milliseconds:.1f} ms{f' {user}' if user else ''}"
    fields = {
        "method": request.method,
        "path": path,
        "status": response.status_code,
        "duration_ms": round(milliseconds, 1),
        "user": user,
        "user_id": getattr(caller, "pk", None),
        "account_id": getattr(caller, "account_id", None),
    }
    if settings.PRODUCTION:
        write_line("access", message, fields)
    else:
        access.info("%s", message, extra=fields)


def with_length(respond: Respond) -> Respond:
    """Read a body without a ``Content-Length`` whole, and pass it on with its length.

    In WSGI only that header gives a body's length. Without it Django sees no body at all, and a change would be
    answered 200 without any effect. In HTTP/2 no header tells whether there is such a body.

    The server cannot distinguish the end of such a body from an interruption. A JSON object shows its own end: half
    of one is refused as no JSON. Bodies of other types, and empty bodies that were announced, are refused with 411.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        meta = request.META
        announced = "HTTP_TRANSFER_ENCODING" in meta
        possible = announced or (request.method in ("POST", "PUT") and meta.get("SERVER_PROTOCOL") == "HTTP/2")
        if not possible or (meta.get("CONTENT_LENGTH") and not announced):
            return respond(request)
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = _read_at_most(meta["wsgi.input"], most + 1) if _is_json(meta) else meta["wsgi.input"].read(1)
        if len(body) > most:
            return error_response([{"field": None, "reason": "The body is too large"}], 400)
        if (body and not _is_json(meta)) or (announced and not body):
            return error_response([{"field": None, "reason": "Content-Length is required"}], 411)
        meta["CONTENT_LENGTH"] = str(len(body))
        request._stream = io.BytesIO(body)
        return respond(request)

    return middleware


def _is_json(meta: Mapping[str, Any]) -> bool:
    """Tell whether the declared type of a body is JSON, or missing."""
    return media_type(meta.get("CONTENT_TYPE", "")) in ("", CONTENT_TYPE)


def _read_at_most(stream: IO[bytes], size: int) -> bytes:
    """Return the bytes of a stream up to its end, or the first `size`. One read may return fewer."""
    pieces: list[bytes] = []
    while size and (piece := stream.read(min(size, 65_536))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def normalize_api_paths(respond: Respond) -> Respond:
    """Normalize the paths of the API. A tag's label may contain such slashes: the tags' view handles them."""

    def middleware(request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path[-1:] == "/" or "//" in path:
            tag = _TAG(path)
            normal = f"{normalized(tag[1])}/{tag[2]}" if tag else normalized(path)
            if is_api(normal):
                request.path_info = normal
                request.path = request.META.get("SCRIPT_NAME", "").rstrip("/") + normal
        return respond(request)

    return middleware
