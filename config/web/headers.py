"""Headers that are prepared once and set on many responses, and what a request says of media types."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse

Headers = Mapping[str, tuple[str, str]]


def prepared(**headers: str) -> Headers:
    """Return headers of plain ASCII without line ends, in the form that `add_headers` takes:
    ``prepared(X_Y="z")``.
    """
    names = [name.replace("_", "-") for name in headers]
    return {name.lower(): (name, value) for name, value in zip(names, headers.values(), strict=True)}


def add_headers(response: HttpResponse, headers: Headers) -> None:
    """Set all of `headers`. If they were set one by one, Django would convert and check each for every response."""
    response.headers._store.update(headers)


def media_type(content_type: str) -> str:
    """Return the media type of a ``Content-Type`` header, without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def too_many(response: HttpResponse, seconds: int) -> HttpResponse:
    """Make `response`, a page that says when to try again, a 429 with ``Retry-After``."""
    response.status_code = 429
    response["Retry-After"] = str(seconds)
    return response


def prefers_html(request: HttpRequest) -> bool:
    """Tell whether the client prefers HTML to JSON, as browsers do for pages. ``*/*`` and no header do not."""
    try:
        return request.get_preferred_type(["application/json", "text/html"]) == "text/html"
    except (ValueError, LookupError):  # its parameters cannot be decoded
        return False
