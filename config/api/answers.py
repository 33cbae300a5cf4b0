"""The statuses of an operation in the OpenAPI document, from the declarations of its view.

All operations share one description of each refusal, below `components/responses`.
"""

from collections.abc import Iterator
from typing import Any

from config.api import access, reasons

LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")

HEADERS: dict[str, Any] = {
    "X-RateLimit-Limit": {
        "description": "The number of requests that the limit allows. The limit is the one that is nearest to "
        "being used up.",
        "schema": {"type": "integer"},
        "example": 1600,
    },
    "X-RateLimit-Remaining": {
        "description": "The number of requests that are left under this limit.",
        "schema": {"type": "integer"},
        "example": 1599,
    },
    "X-RateLimit-Reset": {
        "description": "The time at which the limit resets, in seconds since 1970.",
        "schema": {"type": "integer"},
        "example": 1767225600,
    },
    "Retry-After": {
        "description": "Seconds to wait until a request is allowed again.",
        "schema": {"type": "integer", "minimum": 1},
        "example": 30,
    },
}

REFUSALS: dict[int, tuple[str, str, dict[str, Any]]] = {
    400: (
        "Invalid",
        "The request was refused and changed nothing. Either fields or parameters are missing or wrong, and the "
        "answer names all of them. Or the state of the object forbids the request (`Compute busy.`).",
        {"field": "label", "reason": "label is required"},
    ),
    401: (
        "InvalidToken",
        "The token is missing, unknown, expired or revoked (`Invalid Token`), or it lacks the scope "
        f"(`{reasons.SCOPE_LACKING}`).",
        {"field": None, "reason": reasons.INVALID_TOKEN},
    ),
    403: (
        "Forbidden",
        "The user lacks the grant.",
        {"field": None, "reason": reasons.UNAUTHORIZED},
    ),
    404: (
        "NotFound",
        "The object does not exist, or the caller may not see it.",
        {"field": None, "reason": reasons.NOT_FOUND},
    ),
    415: (
        "UnsupportedMediaType",
        "The body is of another type than the operation takes.",
        {"field": None, "reason": "The body must be application/json"},
    ),
    429: (
        "TooManyRequests",
        "A limit is used up. The request had no effect; `Retry-After` says when to send it again.",
        {"field": None, "reason": reasons.TOO_MANY_REQUESTS},
    ),
}
"""For each status: its name among the components, its meaning, and an example of an error."""

UNAVAILABLE = (
    "Unavailable",
    "The service failed (500), or is not available for a moment (503). A 503 with `Retry-After` changed nothing: "
    "send the request again after that time. After a 500, or a 503 without `Retry-After`, a request that changes "
    "something may have done so: check first.",
    {"field": None, "reason": reasons.UNAVAILABLE},
)


def components() -> dict[str, Any]:
    """The `responses` and `headers` among the components of the document."""
    found = {}
    for status, (name, description, example) in [*REFUSALS.items(), (500, UNAVAILABLE)]:
        names = ("Retry-After",) if status == 500 else (*LIMITS, "Retry-After") if status == 429 else LIMITS
        headers = {header: {"$ref": f"#/components/headers/{header}"} for header in names}
        found[name] = {
            "description": description,
            **({"headers": headers} if headers else {}),
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/Error"},
                    "example": {"errors": [example]},
                }
            },
        }
    return {"responses": found, "headers": HEADERS}


def refused(grant: str, writes: bool, body: bool, path: bool, listed: bool) -> Iterator[int]:
    """Return the statuses that refuse an operation, as far as they follow from its declarations.

    The arguments tell whether the operation `writes`, takes a `body`, has parameters in its `path`, and is `listed`
    in pages.
    """
    if writes or listed:
        yield 400
    yield 401
    if grant != access.ANYONE:
        yield 403
    if path:
        yield 404
    if body:
        yield 415
    yield 429


def references(statuses: Iterator[int] | list[int]) -> dict[str, Any]:
    """Return references to the answers of an operation in the document, by status."""
    found = {str(status): {"$ref": f"#/components/responses/{REFUSALS[status][0]}"} for status in sorted(statuses)}
    return {**found, "5XX": {"$ref": f"#/components/responses/{UNAVAILABLE[0]}"}}
