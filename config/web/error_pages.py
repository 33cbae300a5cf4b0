"""Failures outside of the API: a page for browsers, and the API's error body for other clients.

Below /v4 the body is JSON for all clients. The views there handle it themselves (`config.api.exceptions`).
"""

import logging
import sys
from collections.abc import Callable

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from config.api import reasons
from config.api.exceptions import RETRY_SECONDS
from config.api.responses import REFUSED, error_response
from config.db.freeze_detector import freeze_detector
from config.db.postgresql.base import CommitUnknown, client_error
from config.db.rows import awaited_table
from config.pages.policies import POLICY_OF_PAGES
from config.web.headers import prefers_html
from config.web.paths import is_api

log = logging.getLogger(__name__)

REASONS = {
    400: "The request could not be read",
    403: reasons.UNAUTHORIZED,
    404: reasons.NOT_FOUND,
    405: reasons.METHOD_NOT_ALLOWED,
    413: "The body is too large",
    429: "Many of your requests are under way: wait for an answer, or try again in a few seconds",
    500: reasons.UNEXPECTED,
    503: reasons.UNAVAILABLE,
}
"""The reason of the error body, and the page to render, by status."""
ASK_NOBODY = {"/livez", "/readyz", "/version"}
"""The paths that are answered without the database while it is silent."""


def failure(request: HttpRequest, status: int, reason: str = "", *, framed: bool = False) -> HttpResponse:
    """Return the answer to a request that failed with a status of `REASONS`. `reason` replaces the usual reason.

    If it is `framed`, the page has the navigation of the request's user.
    """
    if is_api(request.path_info) or not prefers_html(request):
        response: HttpResponse = error_response([{"field": None, "reason": reason or REASONS[status]}], status)
    else:
        context = {"status": status, "path": request.path, "reason": reason, "framed": framed}
        # Usually without the request: its session or its user may be the cause of the failure.
        page = render_to_string("error.html", context, request if framed else None)
        headers = {"Content-Security-Policy": POLICY_OF_PAGES, "Cache-Control": "no-store"}
        response = HttpResponse(page, status=status, headers=headers)
    if status in (429, 503) and not reason:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django refuses. Browsers are told that a form is too large; programs get 400."""
    is_page = not is_api(request.path_info) and prefers_html(request)
    if is_page and isinstance(exception, RequestDataTooBig):
        return failure(request, 413, reasons.TEXTS_TOO_LONG)
    return failure(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that a view refuses. Customers keep the navigation of their pages.

    The view has read the user. If the user has not been read, the page is rendered without the database.
    """
    user = getattr(request, "_cached_user", None)  # where Django's `request.user` keeps what it has read
    of_customers = not request.path_info.startswith("/admin/")
    return failure(request, 403, framed=of_customers and getattr(user, "account_id", None) is not None)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an unknown path. The page shows the API's address: clients may have mistyped it."""
    return failure(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a failure outside of the API's views, such as in a middleware. Django has logged it."""
    error = sys.exception()
    error = error and client_error(error)  # type: ignore[arg-type] # Django handles nothing beyond `Exception`
    if isinstance(error, CommitUnknown):
        return failure(request, 503, reasons.MAY_BE_MADE)
    table = None if error is None else awaited_table(error)
    if table is not None:
        return _locked(request, table)
    gone = isinstance(error, OperationalError | InterfaceError)
    return failure(request, 503 if gone else 500)


def _locked(request: HttpRequest, table: str) -> HttpResponse:
    """Return the answer to a request that waited for a row of `table` until the `LOCK_TIMEOUT`."""
    log.warning("%s %s waited for a locked row of %s", request.method, request.path, table or "?")
    response = failure(request, 503, reasons.LOCKED)
    response["Retry-After"] = str(RETRY_SECONDS)
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django would log an error
    return response


def refuse_early(respond: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that refuses requests without the database.

    It refuses requests that their lane does not accept (`config.server.lanes`). While the database is silent, it
    also refuses requests that would query it.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        status = request.META.get(REFUSED)
        if status is None and freeze_detector.is_frozen and request.path not in ASK_NOBODY:
            status = 503
        if status is None:
            return respond(request)
        refused = failure(request, status)
        # This is no error, but Django would log one for each request.
        refused._has_been_logged = True  # type: ignore[attr-defined]
        return refused

    return middleware


def explain_methods(respond: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that explains a wrong method: browsers would show Django's empty body as a blank page."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = respond(request)
        if response.status_code != 405 or response.content:
            return response
        explained = failure(request, 405)
        explained["Allow"] = response["Allow"]
        return explained

    return middleware
