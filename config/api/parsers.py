"""Reading bodies. Only JSON objects come in, whatever ``Accept`` says only JSON goes out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from config.api import reasons
from config.api.responses import CONTENT_TYPE

NUL = "\x00"


class JSONParser(BaseParser):
    """A JSON object in UTF-8. Text that PostgreSQL could not store (NUL) is refused here, for every field.

    orjson itself refuses lone surrogates, NaN, and nesting that would exhaust the stack.
    """

    media_type = CONTENT_TYPE

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        body = _read(parser_context["request"].META, stream)
        if not body.strip():
            return {}
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError("The body is not valid JSON") from error
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object")
        if rb"\u0000" in body:
            refuse_nul(data)
        return data


def _read(meta: Mapping[str, Any], stream: IO[bytes]) -> bytes:
    """The whole body. One that is too large is not read; one that was cut off asks for something else."""
    length = int(meta.get("CONTENT_LENGTH") or 0)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestDataTooBig
    body = stream.read()
    if len(body) < length:
        raise UnreadablePostError("the client left before all of its body had come")
    return body


def refuse_nul(data: dict[str, Any]) -> None:
    """Raise, naming the field, if a text within `data` holds a NUL character.

    Not by recursion: bodies that orjson reads may be nested deeper than Python's calls.
    """
    within = [_items(data, "")]
    while within:
        path, item = next(within[-1], (None, None))
        if path is None:
            within.pop()
        elif isinstance(item, dict | list):
            within.append(_items(item, path))
        elif isinstance(item, str) and NUL in item:
            raise ValidationError({path: [reasons.not_valid(path.rpartition(".")[2])]})


def _items(data: dict[str, Any] | list[Any], path: str) -> Iterator[tuple[str, Any]]:
    """The items of `data`, each with its path."""
    if isinstance(data, list):
        for index, item in enumerate(data):
            yield f"{path}[{index}]", item
        return
    for key, item in data.items():
        if NUL in key:
            raise ParseError("The body is not valid JSON")
        yield f"{path}.{key}" if path else key, item


class JSONRenderer(BaseRenderer):
    """Only names the media type, for the OpenAPI document: answers are written by `JSONResponse`."""

    media_type = CONTENT_TYPE
    format = "json"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return orjson.dumps(data)


class JSONOnly(BaseContentNegotiation):
    """No negotiation. A body without a media type is taken for JSON, one with another is refused (415)."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()
        return next(iter(parsers)) if media_type in ("", CONTENT_TYPE) else None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return next(iter(renderers)), CONTENT_TYPE
