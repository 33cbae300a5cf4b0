"""An API client that checks every answer against the committed OpenAPI document."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from config.api.reasons import spelled

Headers = Mapping[str, str] | None

SCHEMA_KEYS = ("type", "enum", "format", "minimum", "maximum", "items", "required")
FORMATS = jsonschema.FormatChecker(())


@FORMATS.checks("date-time-local")
def _is_time(value: Any) -> bool:
    """Tell whether a value is a time in UTC without offset and fraction, as in the contract."""
    return value is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value) is not None


DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "openapi.yaml"


@dataclass(frozen=True)
class File:
    """A body that is not JSON."""

    content: bytes
    media_type: str

    @classmethod
    def form(cls, name: str, content: bytes, field: str = "file") -> "File":
        """Return a file in a form, as browsers send it."""
        data = encode_multipart(BOUNDARY, {field: SimpleUploadedFile(name, content)})
        return cls(data, MULTIPART_CONTENT)


class APIClient:
    """A client that sends JSON with a bearer token. An answer that the document does not allow fails the test.

    Requests come from `address`.
    """

    def __init__(self, token: str | None = None):
        self.address = "127.0.0.1"
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, x_filter: Any = None, headers: Headers = None):
        """Send a GET. A filter is the text of the header ``X-Filter``, or an object that becomes JSON."""
        if x_filter is not None:
            text = x_filter if isinstance(x_filter, str) else json.dumps(x_filter)
            headers = {**(headers or {}), "X-Filter": text}
        return self._call("GET", path, None, headers)

    def post(self, path: str, body: Any = None, headers: Headers = None):
        return self._call("POST", path, body, headers)

    def put(self, path: str, body: Any = None, headers: Headers = None):
        return self._call("PUT", path, body, headers)

    def delete(self, path: str, headers: Headers = None):
        return self._call("DELETE", path, None, headers)

    def _call(self, method: str, path: str, body: Any, headers: Headers):
        media_type = "application/json"
        if isinstance(body, File):
            body, media_type = body.content, body.media_type
        connection.committed = False  # fixtures commit in this thread; in a server, only requests do
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self._client.generic(
            method,
            path,
            data,
            content_type=media_type,
            headers={**self._headers, **(headers or {})},
            REMOTE_ADDR=self.address,
        )
        check(method, path.partition("?")[0], response)
        return response


def check(method: str, path: str, response) -> None:
    """Check an answer of the API against the document: its status, its fields and their types. Other fields
    fail."""
    assert response.status_code != 500, response.content
    if response.status_code == 204:
        assert response.content == b""
        return
    if response.status_code == 200 and response["Content-Type"] != "application/json":
        assert response["Content-Type"] in documented(method, path)
        return
    body = response.json()
    if response.status_code != 200:
        assert_documented(method, path, response.status_code)
        assert set(body) == {"errors"}
        assert all(set(error) == {"field", "reason"} and error["reason"] for error in body["errors"])
        assert body["errors"]
        for error in body["errors"]:
            assert_spelled(error["field"], error["reason"])
        return
    if method in ("GET", "POST", "PUT", "DELETE"):
        try:
            answer_of(method, path).validate(body)
        except jsonschema.ValidationError as error:
            if any(each.validator_value == "date-time-local" for each in (error, *(error.context or ()))):
                error.add_note("Times are naive and in UTC (config/api/responses.py).")
            raise


def assert_spelled(field: str | None, reason: str) -> None:
    """Check that a reason names its field as the request spells it, e.g. ``alerts.io``.

    In an item of a list, the name is the path in the item. The reason for an item that is one value may show
    the value.
    """
    named = re.match(r"(\S+) (?:is required|is not valid|must be (?:at least |at most )?[0-9])", reason)
    if field is not None and field != "X-Filter" and not field.endswith("]") and named and named[1] != "Length":
        assert named[1] == spelled(field), f"{field}: {reason}"


def assert_documented(method: str, path: str, status: int) -> None:
    """Check that the document of an operation names the status of a refusal.

    Unknown paths, wrong methods and failures of the server are not documented for each operation.
    """
    try:
        template = template_of(method, path)
    except AssertionError:
        assert status in (404, 405)
        return
    if status < 500:
        assert str(status) in document()["paths"][template][method.lower()]["responses"]


def documented(method: str, path: str) -> dict[str, Any]:
    """Return the documented 200 answers of an operation, by media type."""
    return document()["paths"][template_of(method, path)][method.lower()]["responses"]["200"]["content"]


def answer_of(method: str, path: str) -> jsonschema.Draft202012Validator:
    """Return the validator of an operation's 200 answer in JSON."""
    return _answer(method.lower(), template_of(method, path))


def template_of(method: str, path: str) -> str:
    """Return the operation's path in the document. Fails if the document has no such path."""
    path = re.sub(r"^/v4beta/", "/v4/", re.sub(r"/+", "/", path)).rstrip("/")
    for template, pattern in _paths():
        if pattern.fullmatch(path) and method.lower() in document()["paths"][template]:
            return template
    raise AssertionError(f"{method} {path} answers, but is not in {DOCUMENT.name}: run `make openapi`")


@cache
def _answer(method: str, template: str) -> jsonschema.Draft202012Validator:
    answer = document()["paths"][template][method]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator(_strict(schema), format_checker=FORMATS)


@cache
def document() -> dict[str, Any]:
    return yaml.load(DOCUMENT.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def _paths() -> list[tuple[str, re.Pattern[str]]]:
    """Return the paths as patterns. An id that is a text may have slashes, so the more literal path comes
    first."""
    found = sorted(document()["paths"], key=lambda path: (path.count("{"), -len(path)))
    return [(path, re.compile(_pattern(path, item))) for path in found for item in [document()["paths"][path]]]


def _pattern(path: str, item: dict[str, Any]) -> str:
    parameters = [each for operation in item.values() for each in operation.get("parameters", ())]
    kinds = {each["name"]: each["schema"]["type"] for each in parameters if each["in"] == "path"}
    pieces = re.split(r"\{(\w+)\}", path)
    pieces[1::2] = ["[0-9]+" if kinds[name] == "integer" else ".+" for name in pieces[1::2]]
    return "".join(pieces)


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of the document that refuses unknown properties."""
    if "$ref" in schema:
        target: Any = document()
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        return _strict({**target, **{key: value for key, value in schema.items() if key != "$ref"}})
    if "allOf" in schema and len(schema["allOf"]) == 1:
        inner = {key: value for key, value in schema.items() if key != "allOf"}
        return _strict({**_resolved(schema["allOf"][0]), **inner})
    out = {key: value for key, value in schema.items() if key in SCHEMA_KEYS}
    for key in ("oneOf", "anyOf"):
        if key in schema:
            out[key] = [_strict(option) for option in schema[key]]
    if "properties" in schema:
        out["properties"] = {
            name: _strict(child) for name, child in schema["properties"].items() if not child.get("writeOnly")
        }
        out["additionalProperties"] = False
    elif schema.get("type") == "object":
        out["additionalProperties"] = schema.get("additionalProperties", {})
    if "items" in schema:
        out["items"] = _strict(schema["items"])
    return out


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    target: Any = document()
    for part in schema["$ref"].lstrip("#/").split("/"):
        target = target[part]
    return target


def errors(response: Any, status: int = 400) -> dict[str | None, str]:
    """Return the reason for each field in a refusal with that status. The key None is for the whole request."""
    assert response.status_code == status, response.content
    return {error["field"]: error["reason"] for error in response.json()["errors"]}


def wrong_fields(response: Any) -> list[str]:
    """Return the fields in a refusal, in its order, with repetitions."""
    assert response.status_code == 400, response.content
    return [error["field"] for error in response.json()["errors"]]
