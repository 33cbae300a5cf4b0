"""Everything in the OpenAPI document is described: operations, parameters, properties, values of enums, tags."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from config.api import openapi
from config.api.common_fields import COMMON
from tests.client import document

METHODS = ("get", "post", "put", "delete")
MAX_SUMMARY_LENGTH = 120


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document()["paths"].items():
        yield from ((f"{method.upper()} {path}", item[method]) for method in METHODS if method in item)


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all schemas with their places: components, their parts, and those of parameters and bodies."""
    for name, schema in document()["components"]["schemas"].items():
        yield from within(name, schema)
    for name, operation in operations():
        for parameter in operation.get("parameters", ()):
            yield from within(f"{name} {parameter['name']}", parameter["schema"])
        for answer in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media_type, content in answer.get("content", {}).items():
                yield from within(f"{name} {media_type}", content["schema"])


def within(place: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield place, schema
    for name, child in schema.get("properties", {}).items():
        yield from within(f"{place}.{name}", child)
    for child in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield from within(f"{place}[]", child)
    for key in ("oneOf", "anyOf", "allOf"):
        for number, child in enumerate(schema.get(key, ())):
            yield from within(f"{place}/{number}", child)


def test_every_operation_has_a_summary_and_its_permissions():
    for name, operation in operations():
        assert 0 < len(operation["summary"]) <= MAX_SUMMARY_LENGTH, name
        assert not operation["summary"].endswith("."), name
        *about, access = operation["description"].split("\n\n")
        assert access.startswith(("The token needs", "No token is needed", "Any valid token")), name
        assert "".join(about), f"{name}: write a second paragraph in the docstring of its action or view"


def test_every_parameter_is_described():
    for name, operation in operations():
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), f"{name}: {parameter['name']}"


def test_every_component_and_property_is_described():
    lacking = {
        name for name, schema in document()["components"]["schemas"].items() if not schema.get("description")
    }
    lacking |= {
        f"{place}.{name}"
        for place, schema in schemas()
        for name, child in schema.get("properties", {}).items()
        if not child.get("description")
    }
    assert not lacking, "give these a docstring, or a help_text"


def test_every_value_of_an_enum_is_described():
    for place, schema in schemas():
        if values := schema.get("enum"):
            described = schema.get("x-enum-descriptions", {})
            assert list(described) == ["null" if value is None else str(value) for value in values], place
            assert all(described.values()), place
            assert all(f"| `{value}` |" in schema["description"] for value in described), place


def test_no_enum_has_values_that_differ_by_case_alone():
    for place, schema in schemas():
        values = [str(value).lower() for value in schema.get("enum", ())]
        assert len(values) == len(set(values)), place


def test_every_tag_is_described_and_used():
    described = {tag["name"]: tag["description"] for tag in document()["tags"]}
    used = {tag for _, operation in operations() for tag in operation["tags"]}
    assert set(described) == used
    assert all(described.values())


def test_every_scope_is_described():
    flow = document()["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"]
    assert all(flow["scopes"].values())
    needed = {
        name for _, operation in operations() for each in operation["security"] for name in each.get("oauth", ())
    }
    assert needed <= set(flow["scopes"])


@pytest.mark.parametrize(
    "topic",
    ["Tokens", "Scopes and grants", "Pages", "X-Filter", "Bodies", "Errors", "Limits", "Events", "Versions"],
)
def test_the_introduction_has_a_part_about(topic):
    about = document()["info"]["description"].partition(f"\n## {topic}\n\n")[2].partition("\n## ")[0]
    assert len(about) > 100


def test_the_document_says_whose_it_is():
    info = document()["info"]
    assert info["contact"]["name"]
    assert info["license"] == {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
    assert all(server["description"] for server in document()["servers"])


def test_operation_ids_are_names_for_methods():
    for name, operation in operations():
        assert operation["operationId"].isidentifier(), name
        assert operation["operationId"] == operation["operationId"].lower()
        words = operation["operationId"].split("_")
        assert words[-1] != words[-2], name


def test_no_word_stands_ready_that_nothing_uses():
    paths = {word for path in document()["paths"] for word in path.split("/")}
    assert set(openapi.NOUNS) <= paths
    assert set(openapi.KEYS) - {"year", "month"} <= paths
    names = Counter(name for _, schema in schemas() for name in schema.get("properties", ()))
    assert all(names[name] > 1 for name in COMMON), "one field alone has its own help_text"
