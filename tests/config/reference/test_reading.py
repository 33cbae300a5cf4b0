"""Documents as sections of operations: a small one with every feature, and the served one."""

import json
from pathlib import Path

import orjson
import pytest
from django.conf import settings

from config.api.documents import document
from config.reference.reading import METHODS, Operation, Reference, read, reference

ERROR = {"schema": {"type": "object", "properties": {"errors": {"type": "array", "items": {"type": "object"}}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Small", "version": "1.2", "description": "# Tokens\n\nText\n\n# Filters"},
    "tags": [{"name": "volumes", "description": "Disks that *move*."}, {"name": "unused"}, {"name": "regions"}],
    "security": [{"token": []}],
    "paths": {
        "/v4/regions": {
            "get": {
                "operationId": "regions_list", "tags": ["regions"], "security": [{"oauth": ["a:read_only"]}, {}],
                "responses": {"200": {"description": "Fine."}},
            },
        },
        "/v4/volumes/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "put": {
                "operationId": "volumes_update", "summary": "Change `label`", "tags": ["volumes"],
                "description": "Some *text*.", "deprecated": True, "x-grant": "read_write",
                "security": [{"token": []}, {"oauth": ["volumes:read_write", "computes:read_write"]}],
                "parameters": [
                    {"name": "page", "in": "query", "schema": {"type": "integer", "default": 1, "examples": [7]}},
                    {"name": "X-Filter", "in": "header", "schema": {"type": "string"},
                     "examples": {"one": {"value": '{"a": 1}'}}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Volume"},
                        "examples": {
                            "small": {"summary": "A small one", "value": {"label": "é"}}, "large": {"value": {}},
                        },
                    }},
                },
                "responses": {
                    "200": {
                        "description": "The volume.",
                        "headers": {"X-RateLimit-Limit": {"description": "Many.", "schema": {"type": "integer"}}},
                        "content": {"application/json": {
                            "schema": {"$ref": "#/components/schemas/Volume"}, "example": {"label": "x"},
                        }},
                    },
                    "400": {"description": "Wrong.", "content": {"application/json": ERROR}},
                    "404": {"description": "Not there.", "content": {"application/json": ERROR}},
                    "204": {"$ref": "#/components/responses/nothing"},
                },
            },
            "delete": {"operationId": "volumes_destroy", "tags": ["volumes"], "responses": {}},
        },
        "/v4/odd": {"post": {
            "operationId": "odd", "requestBody": {"content": {"application/json": {"schema": {
                "type": "object", "required": ["region", "size", "kind", "on", "keys", "deep", "any"],
                "properties": {
                    "region": {"type": "string", "examples": ["us-east"]},
                    "size": {"type": "integer", "minimum": 10}, "kind": {"enum": ["a", "b"]},
                    "on": {"type": "boolean", "default": True}, "keys": {"type": "array"},
                    "deep": {"type": ["object", "null"], "required": ["n"],
                             "properties": {"n": {"type": "number"}}},
                    "any": {}, "left_out": {"type": "string"},
                },
            }}}},
            "responses": {},
        }},
    },
    "components": {
        "parameters": {"id": {
            "name": "id", "in": "path", "required": True, "description": "Which.", "schema": {"type": "integer"},
        }},
        "responses": {"nothing": {"description": "Nothing."}},
        "schemas": {"Volume": {"type": "object", "properties": {"label": {"type": "string"}}}},
    },
}  # fmt: skip


REFUSED = ("401", "403")
POLICY = Path(settings.BASE_DIR) / "docs" / "policy.txt"


def with_example(example: str) -> Operation:
    """Return an operation whose body and parameter have this example."""
    parameter = {
        "name": "id", "in": "path", "description": "Such as `x`.", "example": "us-east", "schema": {},
    }  # fmt: skip
    body = {"content": {"application/json": {"schema": {}, "example": example}}}
    operation = {"operationId": "x", "parameters": [parameter], "requestBody": body}
    return read({**DOCUMENT, "paths": {"/v4/x/{id}": {"post": operation}}}).operations["x"]


@pytest.fixture(scope="module")
def small() -> Reference:
    return read(DOCUMENT)


@pytest.fixture(scope="module")
def update(small) -> Operation:
    return small.operations["volumes_update"]


def test_sections_are_the_tags_in_their_order_without_empty_ones(small):
    assert [section.name for section in small.sections] == ["volumes", "regions", "other"]
    assert "Disks that <em>move</em>." in small.sections[0].description
    assert (small.title, small.version) == ("Small", "1.2")
    assert [heading.anchor for heading in small.headings] == ["tokens", "filters"]


def test_an_operation_has_method_path_scopes_and_grant(update):
    assert (update.method, update.path, update.summary) == ("PUT", "/v4/volumes/{id}", "Change `label`")
    assert update.heading == "Change <code>label</code>"
    assert update.scopes == ("volumes:read_write", "computes:read_write")
    assert (update.public, update.deprecated, update.grant) == (False, True, "read_write")


def test_public_operations_are_marked(small):
    assert small.operations["regions_list"].public
    assert small.operations["regions_list"].scopes == ("a:read_only",)
    assert not small.operations["volumes_destroy"].public, "what the document says for all counts"


def test_tokens_that_are_refused_are_not_offered():
    """docs/policy.txt has the refusals in the columns `none` and `reads`."""
    offered = {(each.method, each.path): each.accepts.split() for each in reference().operations.values()}
    lines = [line.split() for line in POLICY.read_text().splitlines() if " /v4/" in line]
    assert {(method, path) for method, path, *_ in lines} == offered.keys()
    for method, path, none, _, reads, *_ in lines:
        accepted = offered[method, path]
        assert ("none" in accepted) == (not none.startswith(REFUSED)), f"{method} {path}"
        assert ("read_only" in accepted) == (not reads.startswith(REFUSED)), f"{method} {path}"
        assert {"full", "pasted"} <= set(accepted)


def test_the_choice_with_the_least_access_comes_first(small):
    assert small.operations["regions_list"].accepts == "read_only full none pasted"
    assert small.operations["volumes_update"].accepts == "full pasted"


class TestIdsOfAnInstallation:
    IDS = {"us-east": "us-west", "us-west": "no-osl", "x": "<y>"}

    def test_they_are_shown_in_examples(self, update):
        other = update.with_ids(self.IDS)
        assert other.answers[0].examples[0].text == '{\n  "label": "<y>"\n}'
        assert other.answers[1].examples == update.answers[1].examples

    def test_each_is_replaced_once_and_only_where_it_is_a_whole_text(self):
        text = '["us-east", "us-west", "us-east-h1", "an us-east"]'
        operation = with_example(text).with_ids(self.IDS)
        assert operation.bodies[0].start == '["us-west", "no-osl", "us-east-h1", "an us-east"]'

    def test_they_are_shown_in_descriptions_of_parameters_and_escaped(self):
        operation = with_example("").with_ids(self.IDS)
        assert operation.parameters[0].field.description == "<p>Such as <code>&lt;y&gt;</code>.</p>\n"
        assert operation.parameters[0].example == "us-west"

    def test_without_any_the_operation_stays_as_it_is(self, update):
        assert update.with_ids({}) is update


def test_parameters_are_those_of_path_and_operation(update):
    assert [(each.place, each.field.name, each.example) for each in update.parameters] == [
        ("path", "id", ""),
        ("query", "page", "7"),
        ("header", "X-Filter", '{"a": 1}'),
    ]
    assert update.parameters[0].field.required
    assert "Which." in update.parameters[0].field.description


def test_a_body_begins_with_its_first_example(update):
    [body] = update.bodies
    assert [example.name for example in body.examples] == ["A small one", "large"]
    assert body.start == '{\n  "label": "é"\n}'
    assert [field.name for field in body.field.fields] == ["label"]


def test_without_an_example_a_body_has_the_required_fields(small):
    [body] = small.operations["odd"].bodies
    assert json.loads(body.start) == {
        "region": "us-east", "size": 10, "kind": "a", "on": True, "keys": [], "deep": {"n": 0}, "any": {},
    }  # fmt: skip


def test_answers_with_the_same_fields_show_them_once(update):
    good, wrong, absent, nothing = update.answers
    assert [each.status for each in update.answers] == ["200", "400", "404", "204"]
    assert (good.like, wrong.like, absent.like, nothing.like) == ("", "", "400", "")
    assert good.examples[0].text == '{\n  "label": "x"\n}'
    assert [header.name for header in good.headers] == ["X-RateLimit-Limit"]
    assert (nothing.field, nothing.description) == (None, "<p>Nothing.</p>\n")
    assert (good.good, wrong.good) == (True, False)


def test_every_operation_of_the_served_document_is_there():
    served = orjson.loads(document("json"))
    paths = {(m.upper(), path) for path, item in served["paths"].items() for m in METHODS if m in item}
    operations = reference().operations
    assert {(each.method, each.path) for each in operations.values()} == paths
    assert [each.address for each in operations.values()] == [f"/docs/operations/{name}" for name in operations]
    assert all(answer.status for each in operations.values() for answer in each.answers)
