"""Reading bodies. Only JSON objects come in, whatever ``Accept`` says only JSON goes out."""

from typing import Any

import orjson
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from config.api import reasons
from config.api.responses import CONTENT_TYPE

NUL = "\x00"


class JSONParser(BaseParser):
    """A JSON object in UTF-8. Text that PostgreSQL could not store (NUL) is refused here, for every field.

    orjson itself refuses lone surrogates, NaN, and nesting that would exhaust the stack.
    """

    media_type = CONTENT_TYPE

    def parse(self, stream, media_type=None, parser_context=None) -> dict[str, Any]:
        body = stream.read()
        if not body.strip():
            return {}
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError("The body is not valid JSON") from error
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object")
        if rb"\u0000" in body:
            refuse_nul(data, "")
        return data


def refuse_nul(data: Any, path: str) -> None:
    """Raise, naming the field, if a text within `data` holds a NUL character."""
    if isinstance(data, str):
        if NUL in data:
            raise ValidationError({path: [reasons.not_valid(path.rpartition(".")[2])]})
    elif isinstance(data, list):
        for index, item in enumerate(data):
            refuse_nul(item, f"{path}[{index}]")
    elif isinstance(data, dict):
        for key, item in data.items():
            if NUL in key:
                raise ParseError("The body is not valid JSON")
            refuse_nul(item, f"{path}.{key}" if path else key)


class JSONRenderer(BaseRenderer):
    """Only names the media type, for the OpenAPI document: answers are written by `JSONResponse`."""

    media_type = CONTENT_TYPE
    format = "json"

    def render(self, data, accepted_media_type=None, renderer_context=None) -> bytes:
        return orjson.dumps(data)


class JSONOnly(BaseContentNegotiation):
    """No negotiation. A body without a media type is taken for JSON, one with another is refused (415)."""

    def select_parser(self, request, parsers):
        media_type = request.content_type.partition(";")[0].strip().lower()
        return parsers[0] if media_type in ("", CONTENT_TYPE) else None

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], CONTENT_TYPE
