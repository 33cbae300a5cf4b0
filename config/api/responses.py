"""Answers: JSON by orjson, written once, with no content negotiation after the fact."""

from decimal import Decimal
from typing import Any

import orjson
from django.http import HttpResponse

from config.headers import add_headers, prepared

CONTENT_TYPE = "application/json"
RECEIVED = "skerry.received"
"""The variable of a request that holds its body, where that was received in pieces: a
`config.server.streams.Receiving`, or the exception that receiving it ended with."""

REFUSED = "skerry.refused"
"""The variable of a request that the server does not take: the status of its answer (`config.server.lanes`)."""


def to_json(data: Any) -> bytes:
    """Write an answer as JSON without blanks. Decimals become numbers, and times have no fraction of a second."""
    return orjson.dumps(data, default=_plain, option=orjson.OPT_OMIT_MICROSECONDS)


def _plain(value: Any) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


class JSONResponse(HttpResponse):
    """The response of every action. `data` is anything orjson knows, `orjson.Fragment` included.

    Times have to be naive and in UTC, as resources give them: ``2024-01-01T00:00:00``.
    """

    def __init__(self, data: Any = None, status: int = 200):
        body = to_json({} if data is None else data)
        super().__init__(body, status=status, content_type=CONTENT_TYPE)
        add_headers(self, prepared(Content_Length=str(len(body))))


class NoContent(HttpResponse):
    """A 204: no body, and so no type of it."""

    status_code = 204

    def __init__(self) -> None:
        super().__init__()
        del self.headers["Content-Type"]


def error_response(problems: list[dict[str, Any]], status: int) -> JSONResponse:
    """The one error body of the contract, from ``{"field": …, "reason": …}`` items."""
    return JSONResponse({"errors": problems}, status)
