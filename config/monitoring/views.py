"""``/livez``, ``/readyz``, ``/version`` and ``/metrics``: for load balancers and monitoring."""

import secrets
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from config.api.responses import JSONResponse, error_response
from config.db.freeze_detector import freeze_detector
from config.monitoring.exposition import exposition
from config.monitoring.health import failures
from config.monitoring.registry import Trouble, troubles
from config.processes.draining import drain
from config.version import VERSION

CLOSED = "There are no metrics here: METRICS_TOKEN is not set."
SILENT = Trouble("database", "The database does not answer.")
REFUSED = "Metrics need the token METRICS_TOKEN."


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer 200 while this process answers at all, without a query.

    Restart a process that does not answer this.
    """
    return JSONResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 503 while this process cannot answer requests, because the database or its expected tables are
    missing.

    It also answers 503 after SIGTERM: the process still answers, but the load balancer should choose another one.

    Otherwise it answers 200. The status is ``degraded`` if a broker, worker or clock is missing: requests are
    answered, but the jobs that they begin wait.
    """
    if drain.begun:
        draining = JSONResponse(_report("draining", []), 503)
        # This is no error, but Django would log one for each check.
        draining._has_been_logged = True  # type: ignore[attr-defined]
        return draining
    failed = [SILENT] if freeze_detector.is_frozen else failures()
    if failed:
        return JSONResponse(_report("unavailable", failed), 503)
    try:
        found = troubles()
    except Error:
        connection.close()
        return JSONResponse(_report("unavailable", [SILENT]), 503)
    return JSONResponse(_report("degraded" if found else "ok", found))


def _report(status: str, found: list[Trouble]) -> dict[str, Any]:
    return {"status": status, "problems": {each.component: each.text for each in found}}


@require_safe
def version(request: HttpRequest) -> HttpResponse:
    """Return the release of this process, and the revision of its API."""
    return JSONResponse({"version": VERSION, "api": settings.API_REVISION})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return counts and measures of the whole installation for Prometheus. The client needs the token."""
    if not settings.METRICS_TOKEN:
        return error_response([{"field": None, "reason": CLOSED}], 404)
    scheme, _, given = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), _token()):
        refused = error_response([{"field": None, "reason": REFUSED}], 401)
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    text, content_type = exposition(request.META.get("HTTP_ACCEPT", ""))
    response = HttpResponse(text, content_type=content_type)
    response["Cache-Control"] = "no-store"
    return response


def _token() -> bytes:
    token: str = settings.METRICS_TOKEN
    return token.encode()
