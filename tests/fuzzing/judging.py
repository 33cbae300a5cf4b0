"""What has to hold for the answer to any request that was drawn from the document.

Of the checks that Schemathesis has, two cannot hold as they are, for no schema can say all that the contract does:

* *What fits the schema is accepted*: it may name an image that is not there, or a password that is too weak. So
  this holds for reading; a refusal of what changes something has to name fields of the body, or none for all of it.
* *What does not fit is refused*: null means "not given" in every body, an empty text clears one that may be empty,
  blanks around a text are trimmed before it is measured, and what clients send back unchanged is not looked at. A
  body that fits without those is accepted. A body of blanks only is read as an empty object, as no body is.
"""

from functools import cache
from typing import Any

import jsonschema
import schemathesis.checks
from schemathesis.errors import FailureGroup

from tests.client import document
from tests.config.api.routes import Route, request_of

ALWAYS = [
    getattr(schemathesis.checks, name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]


def problems(route: Route, case: Any, answer: Any, headers: dict[str, str]) -> list[str]:
    """What is wrong with the answer, a sentence each; none where all is well."""
    checks = list(ALWAYS)
    if not tolerated(route, case):
        checks.append(schemathesis.checks.negative_data_rejection)
    if reads_what_is_there(route, case):
        checks.append(schemathesis.checks.positive_data_acceptance)
    try:
        case.validate_response(answer, checks=checks, headers=headers)
    except FailureGroup as group:
        return [f"{each.title}: {each.message}" for each in group.exceptions]
    return [f"it names {field}, which is not in the body" for field in sorted(misnamed(route, case, answer))]


def reads_what_is_there(route: Route, case: Any) -> bool:
    """Whether this reads, with nothing in the request that only the server could judge."""
    return route.method == "get" and "X-Filter" not in case.headers


def misnamed(route: Route, case: Any, answer: Any) -> set[str]:
    """The fields that a refusal names although there are none such in the body, nor could be."""
    if answer.status_code != 400 or not isinstance(case.body, dict):
        return set()
    known = (*case.body, *_names(route))
    named = {error["field"] for error in answer.json()["errors"] if error["field"]}
    return {path for path in named if not any(_is_below(path, name) for name in known)}


def _is_below(path: str, name: str) -> bool:
    """Whether a path is that of a field, or of a part of it. A name by chance may have dots and brackets itself."""
    return path == name or path.startswith((f"{name}.", f"{name}["))


def tolerated(route: Route, case: Any) -> bool:
    """Whether the body is accepted, though it does not fit, for what the contract says of every body."""
    if isinstance(case.body, bytes) and not case.body.strip():  # no body, which is read as an empty object
        return _body(route) is not None and _body(route).is_valid({})
    if not isinstance(case.body, dict) or _body(route) is None:
        return False
    unchanged = getattr(request_of(route), "UNCHANGED", ())
    looked_at = {name: value for name, value in case.body.items() if name not in unchanged}
    return _body(route).is_valid(_given(looked_at))


def _given(value: Any) -> Any:
    """A body without what it does not give, nor blanks around its texts."""
    if isinstance(value, dict):
        given = {name: _given(child) for name, child in value.items() if child is not None}
        return {name: child for name, child in given.items() if child != ""}
    if isinstance(value, str):
        return value.strip()
    return [_given(child) for child in value] if isinstance(value, list) else value


@cache
def _body(route: Route) -> jsonschema.Draft202012Validator | None:
    """The schema of the route's body, where that is JSON."""
    content = document()["paths"][route.documented][route.method].get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None
    schema = {**content["application/json"]["schema"], "components": document()["components"]}
    return jsonschema.Draft202012Validator(schema)


@cache
def _names(route: Route) -> frozenset[str]:
    """The fields of the route's body, an object or a form."""
    content = document()["paths"][route.documented][route.method].get("requestBody", {}).get("content", {})
    forms = {name for each in content.values() for name in each["schema"].get("properties", ())}
    return forms | request_of(route).names()
