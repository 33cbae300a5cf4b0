"""Parsers of bodies. Requests and answers have JSON bodies only, whatever the header ``Accept`` says."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError, UnsupportedMediaType, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from config.api import reasons
from config.api.responses import CONTENT_TYPE, to_json
from config.web.headers import media_type

NUL = "\x00"
MAX_DIGITS = 308
"""The maximum number of digits of a number in a body that is stored as sent.

A longer integer exceeds a double, the type that most clients use for numbers. Some clients, such as Python, fail at
a few thousand digits.
"""
MAX_VALUES = 150_000
"""The maximum number of commas and opening brackets in a body, also within texts.

orjson and the garbage collector stop all threads of a process while they work. With 810,000, they took 0.3 s. The
longest texts of one object, a script and its description, have 131,070 characters.
"""
TOO_LONG = f"A number must have at most {MAX_DIGITS} digits"
NO_JSON, NO_OBJECT = "The body is not valid JSON", "The body must be a JSON object"
SCALAR = re.compile(
    r"""
    (?P<string> "[^"\\\x00-\x1f]*+ (?: \\ (?:["\\/bfnrt] | u[0-9a-fA-F]{4}) [^"\\\x00-\x1f]*+ )*+" )
    | (?P<number> -? (?:0 | [1-9][0-9]*+) (?:\.[0-9]++)? (?:[eE][+-]?[0-9]++)? )
    | "
    """,
    re.VERBOSE,
)
"""A string or a number of JSON (RFC 8259), or a quote that begins no valid string.

The expression never backtracks far in a long text.
"""
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]')
"""A string or a punctuation mark of JSON, in a text that is known to be JSON."""
BLANKS = re.compile(r'("(?:[^"\\]|\\.)*+")|[ \t\r\n]++')
"""A string, or blanks between values, in a text that is known to be JSON."""
MAX_DEPTH = 1000
"""The maximum nesting of a body that is stored as sent.

Few clients could read more, and orjson could not either.
"""


class JSONParser(BaseParser):
    """A JSON object in UTF-8. Text that PostgreSQL cannot store (NUL) is refused here, for every field.

    orjson itself refuses lone surrogates, NaN, and nesting that would exhaust the stack.
    """

    media_type = CONTENT_TYPE

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        body = _read(parser_context["request"].META, stream)
        if not body.strip():
            return {}
        if len(body) > MAX_VALUES and sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise RequestDataTooBig
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(NO_JSON) from error
        if not isinstance(data, dict):
            raise ParseError(NO_OBJECT)
        if rb"\u0000" in body:
            refuse_nul(data)
        return data


def _read(meta: Mapping[str, Any], stream: IO[bytes]) -> bytes:
    """Read the whole body.

    Raises before it reads a body that is too large, and if the client left before the end.
    """
    length = int(meta.get("CONTENT_LENGTH") or 0)
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestDataTooBig
    body = stream.read()
    if len(body) < length:
        raise UnreadablePostError("the client left before all of its body had come")
    return body


def refuse_nul(data: dict[str, Any]) -> None:
    """Raise an error that names the field if a text within `data` contains a NUL character.

    The function does not recurse: bodies that orjson reads may be nested deeper than Python's calls.
    """
    within = [_items(data, None)]
    while within:
        path, item = next(within[-1], (None, None))
        if path is None:
            within.pop()
        elif isinstance(item, dict | list):
            within.append(_items(item, path))
        elif isinstance(item, str) and NUL in item:
            raise ValidationError({path: [reasons.not_valid(reasons.spelled(path))]})


def _items(data: dict[str, Any] | list[Any], path: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the items of `data` with their paths.

    The path of the whole body is None, because a key may be empty.
    """
    if isinstance(data, list):
        for index, item in enumerate(data):
            yield f"{path}[{index}]", item
        return
    for key, item in data.items():
        if NUL in key:
            raise ParseError(NO_JSON)
        yield key if path is None else f"{path}.{key}", item


def object_as_sent(request: Request, longest: int) -> str:
    """Return a request's body, a JSON object of at most `longest` characters, as it was sent, or ``{}``.

    Only the blanks between its values are removed, as in all answers. It is for objects that are stored and
    returned unchanged: parsing and writing would round long numbers. It would also fail to store a NUL or half of a
    surrogate pair, escaped as ``\\u0000`` and ``\\ud800``.

    Raises DRF's errors. The error for a number of more than `MAX_DIGITS` digits names the field.
    """
    if _media_type(request) != CONTENT_TYPE:
        raise UnsupportedMediaType(request.content_type)
    body = b"" if request.stream is None else _read(request.META, request.stream)
    try:
        sent = body.decode()
    except UnicodeDecodeError as error:
        raise ParseError(NO_JSON) from error
    if len(sent) > longest:
        raise ParseError(f"The body must be at most {longest} characters")
    sent = sent.strip(" \t\r\n") or "{}"
    _check_grammar(sent)
    return BLANKS.sub(r"\1", sent)


def _check_grammar(text: str) -> None:
    """Raise if `text` is no JSON object, or nested too deeply. The function parses no value of it."""
    shape = SCALAR.sub(_without_value, text)
    level = 0
    for bracket in re.findall(r"[\[\]{}]", shape):
        level += 1 if bracket in "[{" else -1
        if level > MAX_DEPTH:
            raise ParseError(f"The body may be nested at most {MAX_DEPTH} levels deep")
    try:
        found = orjson.loads(shape)
    except orjson.JSONDecodeError as error:
        raise ParseError(NO_JSON) from error
    if not isinstance(found, dict):
        raise ParseError(NO_OBJECT)
    _refuse_long_numbers(text)


def _refuse_long_numbers(text: str) -> None:
    """Raise an error with the field's path if a number in the JSON object `text` exceeds `MAX_DIGITS` digits."""
    for scalar in SCALAR.finditer(text):
        number = scalar["number"] or ""
        if len(number) > MAX_DIGITS and sum(map(str.isdigit, number)) > MAX_DIGITS:
            raise ValidationError({_path_to(text, scalar.start()): [TOO_LONG]})


def _path_to(text: str, position: int) -> str:
    """Return the path of the value at `position` of a JSON object: ``table.columns[2]``.

    Keys are as they were sent.
    """
    path: list[str | int] = []
    key = ""
    for token in TOKEN.finditer(text, 0, position):
        sign = token[0]
        if sign in "{[":
            path.append("" if sign == "{" else 0)
        elif sign in "}]":
            path.pop()
        elif sign == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else path[-1]
        elif sign == ":":
            path[-1] = key
        else:
            key = sign[1:-1]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _without_value(scalar: re.Match[str]) -> str:
    """Return another value for a string or a number, so that the text stays valid JSON, or stays invalid.

    ``null`` is not valid as a key. Two numbers side by side become ``nullnull``, which is not valid either.
    """
    if scalar["string"]:
        return '""'
    if scalar["number"]:
        return "null"
    raise ParseError(NO_JSON)


class JSONRenderer(BaseRenderer):
    """Writes the data of a DRF `Response` with the same bytes as a `JSONResponse`."""

    media_type = CONTENT_TYPE
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else to_json(data)


class JSONOnly(BaseContentNegotiation):
    """No negotiation. A body without a media type is read as JSON. A body that no parser reads is refused (415)."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        given = _media_type(request)
        return next((parser for parser in parsers if parser.media_type in (given, "*/*")), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return next(iter(renderers)), CONTENT_TYPE


def _media_type(request: Request) -> str:
    """Return the media type that the request declares for its body, or JSON if it declares none."""
    return media_type(request.content_type) or CONTENT_TYPE
