"""The one error body: every kind of failure becomes ``{"errors": [{"field": …, "reason": …}]}``."""

import errno
import logging
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.apps import apps
from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.core.signals import got_request_exception
from django.db import DataError, IntegrityError, InterfaceError, InternalError, OperationalError
from django.db.models import UniqueConstraint
from django.http import Http404, UnreadablePostError
from psycopg.errors import DiskFull, ForeignKeyViolation, IdleInTransactionSessionTimeout
from rest_framework import exceptions as drf

from config import errors, word
from config.api import reasons
from config.api.responses import CONTENT_TYPE, JSONResponse, error_response
from config.db.postgresql.base import CommitUnknown, client_error
from config.db.rows import awaited_table, violated_constraint

logger = logging.getLogger("config.api")

UNAVAILABLE = reasons.UNAVAILABLE
RETRY_SECONDS = 5
"""``Retry-After`` of a 503: the seconds after which a lost connection is usually back, or a lock is free."""
DOMAIN_STATUS: tuple[tuple[type[errors.DomainError], int], ...] = (
    (errors.ScopeLacking, 401),
    (errors.Denied, 403),
    (errors.Missing, 404),
    (errors.DomainError, 400),
)
COMPUTES = {"compute_instance", "compute_disk", "compute_config"}
"""Tables whose locked rows mean that the compute is busy."""
FIXED: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int, str], ...] = (
    ((Http404, ObjectDoesNotExist, drf.NotFound), 404, reasons.NOT_FOUND),
    ((PermissionDenied, drf.PermissionDenied), 403, reasons.UNAUTHORIZED),
    ((drf.AuthenticationFailed, drf.NotAuthenticated), 401, reasons.INVALID_TOKEN),
    (drf.MethodNotAllowed, 405, reasons.METHOD_NOT_ALLOWED),
    (RequestDataTooBig, 400, "The body is too large"),
    ((SuspiciousOperation, UnreadablePostError), 400, "The request could not be read"),
    (CommitUnknown, 503, reasons.MAY_BE_MADE),
    ((OperationalError, InterfaceError), 503, UNAVAILABLE),
)


class WrongMediaType(drf.UnsupportedMediaType):
    """The body has none of the types `wanted`, for an operation that takes no JSON: ``image/png or image/jpeg``."""

    def __init__(self, given: str, wanted: str):
        super().__init__(given)
        self.wanted = wanted


OF_CUSTOMERS = "stackscript_data"
"""The name of the field whose keys are names that customers chose. Such a key is not translated."""


def problem(reason: str, field: str | None = None) -> dict[str, Any]:
    return {"field": field, "reason": reason}


def shown(found: errors.Problem) -> dict[str, Any]:
    """Return a problem as clients read it: its field has the word of the installation (`config.word`)."""
    translated = word.IS_SET and found.field is not None and OF_CUSTOMERS not in found.field
    return problem(found.reason, word.on_wire(str(found.field)) if translated else found.field)


def answer(error: Exception, request: Any) -> JSONResponse:
    """Return the answer to a request that ended with `error`. An unexpected error is logged and answers 500."""
    error = client_error(error)
    table = awaited_table(error)
    if table is not None:
        return _locked(error, request, table)
    for status, problems in _known(error):
        if status >= 500:
            logger.error("%s %s failed: %s", request.method, request.path, error)
        response = error_response(problems, status)
        if status == 401:
            response["WWW-Authenticate"] = "Bearer"
        if status == 503 and not isinstance(error, CommitUnknown):
            response["Retry-After"] = str(RETRY_SECONDS)
        return response
    logger.exception("%s %s failed", request.method, request.path, exc_info=error)
    got_request_exception.send(sender=answer, request=request)
    return error_response([problem(reasons.UNEXPECTED)], 500)


def handle(error: Exception, context: dict[str, Any]) -> JSONResponse:
    """Handle an exception of a DRF view."""
    return answer(error, context["request"])


def _locked(error: Exception, request: Any, table: str) -> JSONResponse:
    """Return the answer to a request that waited for a row of `table` until the `LOCK_TIMEOUT`."""
    logger.warning("%s %s waited for a locked row of %s: %s", request.method, request.path, table or "?", error)
    if table in COMPUTES:
        busy = errors.Busy()
        return error_response([shown(each) for each in busy.problems], 400)
    response = error_response([problem(reasons.LOCKED)], 503)
    response["Retry-After"] = str(RETRY_SECONDS)
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django would log an error
    return response


def _known(error: Exception) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the status and the problems of an expected error. Yields nothing for an unexpected error."""
    if isinstance(error, errors.TooMany | drf.Throttled):
        yield 429, [problem(reasons.TOO_MANY_REQUESTS)]
    elif isinstance(error, errors.DomainError):
        status = next(status for kind, status in DOMAIN_STATUS if isinstance(error, kind))
        yield status, [shown(each) for each in error.problems]
    elif isinstance(error, drf.ValidationError):
        yield 400, list(flatten(error.detail))
    elif isinstance(error, IntegrityError):
        found = violated(error)
        if found:
            yield 400, [found]
        elif isinstance(error.__cause__, ForeignKeyViolation):
            # At commit, when foreign keys are checked: the referenced row was deleted a moment ago.
            logger.warning("a row was deleted during a request that refers to it: %s", error)
            yield 400, [problem("An object that the request refers to was deleted at the same time. Try again.")]
    elif isinstance(error, DataError):
        # A value that PostgreSQL refuses. Checks of fields should stop it earlier and name the field.
        logger.warning("the database refused a value: %s", error)
        yield 400, [problem("A value is not valid")]
    elif is_no_room(error):
        yield 503, [problem(reasons.NO_ROOM)]
    elif isinstance(error, InternalError) and isinstance(error.__cause__, IdleInTransactionSessionTimeout):
        # This process was idle in a transaction for so long that the database closed its connection.
        yield 503, [problem(UNAVAILABLE)]
    elif isinstance(error, drf.UnsupportedMediaType):
        yield 415, [problem(f"The body must be {getattr(error, 'wanted', CONTENT_TYPE)}")]
    elif isinstance(error, drf.PermissionDenied) and error.detail != drf.PermissionDenied.default_detail:
        yield 403, [problem(str(error.detail))]  # the `message` of a permission
    for kinds, status, reason in FIXED:
        if isinstance(error, kinds):
            yield status, [problem(reason)]
    if isinstance(error, drf.APIException):
        yield error.status_code, [problem(str(error.detail))]


def is_no_room(error: BaseException | None) -> bool:
    """Tell whether a disk is full: the server's, the database's, or the quota of the server's user."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return isinstance(error, OperationalError) and (
        isinstance(error.__cause__, DiskFull) or os.strerror(errno.ENOSPC) in str(error)
    )


def flatten(detail: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Yield DRF's nested errors as problems with paths: ``ssh.port``, ``interfaces[0].ipam_address``."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            if isinstance(key, int):
                yield from flatten(value, f"{path}[{key}]")
            elif key == "non_field_errors":
                yield from flatten(value, path)
            else:
                yield from flatten(value, f"{path}.{key}" if path else key)
    elif isinstance(detail, list):
        nested = any(isinstance(item, dict | list) for item in detail)
        for index, item in enumerate(detail):
            yield from flatten(item, f"{path}[{index}]" if nested else path)
    else:
        yield problem(str(detail), path or None)


@cache
def _unique_constraints() -> dict[str, UniqueConstraint]:
    return {
        constraint.name: constraint
        for model in apps.get_models()
        for constraint in model._meta.constraints
        if isinstance(constraint, UniqueConstraint)
    }


def violated(error: IntegrityError) -> dict[str, Any] | None:
    """Return the problem for a unique violation, if its constraint was declared with a message.

    ``violation_error_message`` is the reason and ``violation_error_code`` the field. A request that loses a race to
    the constraint gets the same error as one that fails the check before it.
    """
    constraint = _unique_constraints().get(violated_constraint(error))
    if constraint is None or constraint.violation_error_message == constraint.default_violation_error_message:
        return None
    return shown(errors.Problem(str(constraint.violation_error_message), constraint.violation_error_code))
