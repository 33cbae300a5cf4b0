"""Responses that are written directly: JSON by orjson, without DRF's content negotiation."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson
from django.http import HttpResponse

from config.web.headers import add_headers, prepared

if TYPE_CHECKING:
    from rest_framework.response import Response as BaseResponse  # DRF's stubs require it of an action
else:
    BaseResponse = HttpResponse

CONTENT_TYPE = "application/json"
RECEIVED = "skerry.received"
"""The variable of a request that holds its body, if it was received in pieces.

The value is a `config.server.streams.Receiving`, or the exception that ended the receiving.
"""

REFUSED = "skerry.refused"
"""The variable of a request that the server refuses: the status of its answer (`config.server.lanes`)."""


def to_json(data: Any) -> bytes:
    """Write an answer as JSON without blanks. Decimals become numbers, and times have no fraction of a second."""
    return orjson.dumps(data, default=_plain, option=orjson.OPT_OMIT_MICROSECONDS)


def _plain(value: Any) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


class JSONResponse(BaseResponse):
    """The response of lists and details in their fast way, and of errors. Actions return DRF's `Response`.

    `data` is anything orjson knows, `orjson.Fragment` included.
    Times have to be naive and in UTC, as resources give them: ``2024-01-01T00:00:00``.
    """

    def __init__(self, data: Any = None, status: int = 200):
        body = to_json({} if data is None else data)
        super().__init__(body, status=status, content_type=CONTENT_TYPE)
        add_headers(self, prepared(Content_Length=str(len(body))))


class NoContent(BaseResponse):
    """A 204: no body, and so no content type."""

    status_code = 204

    def __init__(self) -> None:
        super().__init__()
        del self.headers["Content-Type"]


def error_response(problems: list[dict[str, Any]], status: int) -> JSONResponse:
    """The one error body of the contract, from ``{"field": …, "reason": …}`` items."""
    return JSONResponse({"errors": problems}, status)
