"""Checks of the answer to any request that was drawn from the document.

Two checks of Schemathesis are restricted here, because no schema can express the whole contract:

* *What fits the schema is accepted*: a body may name an image that does not exist, or a password that is too weak.
  So this check applies to reads. A refused write must name fields of its body, or no field.
* *What does not fit is refused*: null means "not given" in every body, and an empty text clears a field that may
  be empty. Blanks around a text are trimmed before its length is checked. Fields that clients send back unchanged
  are not checked. A body that fits without those is accepted. A body of blanks counts as an empty object.
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
    """Return the problems of the answer, a sentence each."""
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
    """Tell whether the request reads, and has no part that only the server can judge: a filter, or two times."""
    times = {"from", "until"} & set(case.query or ())
    return route.method == "get" and "X-Filter" not in case.headers and not times


def misnamed(route: Route, case: Any, answer: Any) -> set[str]:
    """Return the fields in a refusal that the body neither has nor could have."""
    if answer.status_code != 400 or not isinstance(case.body, dict):
        return set()
    known = (*case.body, *_names(route))
    named = {error["field"] for error in answer.json()["errors"] if error["field"]}
    return {path for path in named if not any(_is_below(path, name) for name in known)}


def _is_below(path: str, name: str) -> bool:
    """Tell whether a path is that of a field, or of a part of it. A drawn name may itself have dots and
    brackets."""
    return path == name or path.startswith((f"{name}.", f"{name}["))


def tolerated(route: Route, case: Any) -> bool:
    """Tell whether the body is accepted although it does not fit, by the contract's rules for every body."""
    if isinstance(case.body, bytes) and not case.body.strip():  # no body counts as an empty object
        return _body(route) is not None and _body(route).is_valid({})
    if not isinstance(case.body, dict) or _body(route) is None:
        return False
    unchanged = getattr(request_of(route), "UNCHANGED", ())
    looked_at = {name: value for name, value in case.body.items() if name not in unchanged}
    return _body(route).is_valid(_given(looked_at))


def _given(value: Any) -> Any:
    """Return a body without null values, and without blanks around its texts."""
    if isinstance(value, dict):
        given = {name: _given(child) for name, child in value.items() if child is not None}
        return {name: child for name, child in given.items() if child != ""}
    if isinstance(value, str):
        return value.strip()
    return [_given(child) for child in value] if isinstance(value, list) else value


@cache
def _body(route: Route) -> jsonschema.Draft202012Validator | None:
    """Return the schema of the route's body, if the body is JSON."""
    content = document()["paths"][route.documented][route.method].get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None
    schema = {**content["application/json"]["schema"], "components": document()["components"]}
    return jsonschema.Draft202012Validator(schema)


@cache
def _names(route: Route) -> frozenset[str]:
    """Return the fields of the route's body, an object or a form."""
    content = document()["paths"][route.documented][route.method].get("requestBody", {}).get("content", {})
    forms = {name for each in content.values() for name in each["schema"].get("properties", ())}
    return forms | request_of(route).names()
