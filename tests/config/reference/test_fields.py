"""Schemas of OpenAPI 3.0 and 3.1 as fields."""

import pytest

from config.reference.fields import REQUEST, RESPONSE, Field, SchemaReader

DOCUMENT = {
    "components": {
        "schemas": {
            "Region": {"type": "string", "description": "Where it is."},
            "Node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "parent": {"$ref": "#/components/schemas/Node"},
                    "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
                    "either": {"oneOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]},
                },
            },
            "Base": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            "a/b": {"type": "boolean"},
        }
    }
}


def field(schema: dict, direction: str = REQUEST) -> Field:
    return SchemaReader(DOCUMENT).field("x", schema, direction)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string (date-time)"),
        ({"type": ["integer", "null"]}, "integer, or null"),
        ({"type": "integer", "nullable": True}, "integer, or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer, or null"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "integer or string"),
        ({"oneOf": [{"enum": ["a"]}, {"enum": [""]}, {"enum": [None]}]}, "string, or null"),
        ({"type": ["string", "integer"]}, "string or integer"),
        ({"type": "array", "items": {"type": "string"}}, "array of strings"),
        ({"type": "array", "items": {"type": ["object", "null"]}}, "array of objects or null"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "array of arrays of numbers"),
        ({"type": "array"}, "array of values of any type"),
        ({"items": {"type": "string"}}, "array of strings"),
        ({"properties": {}}, "object"),
        ({"const": 4}, "integer"),
        ({"enum": ["a", None]}, "string, or null"),
        ({}, "any type"),
        ({"$ref": "#/components/schemas/a~1b"}, "boolean"),
        ({"allOf": [{"$ref": "#/components/schemas/Region"}], "nullable": True}, "string, or null"),
    ],
)
def test_a_type_in_words(schema, words):
    assert field(schema).type == words


@pytest.mark.parametrize(
    ("schema", "notes"),
    [
        ({"type": "string", "minLength": 3, "maxLength": 64}, ["3 to 64 characters"]),
        ({"type": "string", "minLength": 1}, ["not empty"]),
        ({"type": ["string", "null"], "maxLength": 5}, ["at most 5 characters"]),
        ({"type": "string", "minLength": 2, "maxLength": 2}, ["2 characters"]),
        ({"type": "array", "maxItems": 3, "uniqueItems": True}, ["at most 3 items", "no item twice"]),
        ({"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}, ["at least 1"]),
        ({"type": "integer", "minimum": 0}, ["at least 0"]),
        ({"type": "integer", "minimum": 25, "maximum": 500, "default": 100}, ["25 to 500", "default 100"]),
        ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}, ["more than 0", "a multiple of 0.5"]),
        ({"type": "string", "pattern": "^a+$", "default": ""}, ["pattern ^a+$", 'default ""']),
        ({"type": "boolean", "default": False}, ["default false"]),
        ({"type": "string", "examples": ["us-east", "x"]}, ["such as us-east"]),
        ({"type": "string", "example": "us-east"}, ["such as us-east"]),
        ({"type": "string", "const": "kvm", "deprecated": True}, ["always kvm", "deprecated"]),
    ],
)
def test_bounds_and_defaults_are_notes(schema, notes):
    assert list(field(schema).notes) == notes


def test_a_description_beside_a_reference_takes_precedence():
    assert "Where it is." in field({"$ref": "#/components/schemas/Region"}).description
    own = field({"$ref": "#/components/schemas/Region", "description": "Of the *backup*."})
    assert "Of the <em>backup</em>." in own.description
    assert "Where it is." not in own.description


def test_the_parts_of_a_whole_are_merged():
    more = {"allOf": [{"$ref": "#/components/schemas/Base"}], "properties": {"label": {"type": "string"}}}
    whole = field({**more, "required": ["label"]})
    assert [(each.name, each.required) for each in whole.fields] == [("id", True), ("label", True)]


def test_the_fields_of_the_objects_in_an_array_and_of_a_mapping_are_those_of_the_field():
    shape = {"type": "object", "properties": {"port": {"type": "integer"}}}
    for schema in ({"type": "array", "items": shape}, {"type": "object", "additionalProperties": shape}):
        assert [each.name for each in field(schema).fields] == ["port"]


def test_a_schema_that_holds_itself_ends():
    node = field({"$ref": "#/components/schemas/Node"})
    assert [each.name for each in node.fields] == ["name", "parent", "children", "either"]
    assert [each.type for each in node.fields] == ["string", "object", "array of objects", "object, or null"]
    assert {each.fields for each in node.fields} == {()}


def test_each_of_several_shapes_is_shown():
    shapes = [{"type": "object", "properties": {name: {"type": "string"}}} for name in ("image", "backup")]
    either, other = field({"oneOf": [*shapes, {"type": "null"}]}).fields
    assert (either.name, other.name) == ("either", "or")
    assert [[each.name for each in shape.fields] for shape in (either, other)] == [["image"], ["backup"]]


@pytest.mark.parametrize(
    ("schema", "choices"),
    [
        ({"type": "string", "enum": ["a", "b", None]}, [("a", ""), ("b", "")]),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, [("a", "")]),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, [("a", "")]),
        ({"enum": ["a", "b"], "x-enum-descriptions": ["first", "second"]}, [("a", "first"), ("b", "second")]),
        ({"enum": ["a", "b"], "x-enumDescriptions": {"a": "first"}}, [("a", "first"), ("b", "")]),
        (
            {"oneOf": [{"const": 1, "description": "one"}, {"const": 2, "title": "two"}]},
            [("1", "one"), ("2", "two")],
        ),
        ({"enum": [True, 5, ""]}, [("true", ""), ("5", ""), ('""', "")]),
    ],
)
def test_the_values_of_an_enum_are_choices(schema, choices):
    found = [
        (each.value, each.description.replace("<p>", "").replace("</p>\n", "")) for each in field(schema).choices
    ]
    assert found == choices


def test_choices_that_the_description_names_are_not_listed_again():
    description = "| value | meaning |\n|---|---|\n| `a` | First. |\n| `b&c` | Second. |"
    assert field({"enum": ["a", "b&c"], "description": description}).undescribed_choices == ()
    partly = field({"enum": ["a", "b", "b&c"], "description": description})
    assert [each.value for each in partly.undescribed_choices] == ["a", "b", "b&c"]


def test_answers_require_nothing():
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    assert [[each.required for each in field(schema, way).fields] for way in (REQUEST, RESPONSE)] == [
        [True],
        [False],
    ]


def test_each_direction_has_its_own_fields():
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "root_pass": {"type": "string", "writeOnly": True},
            "label": {"type": "string", "x-filterable": True},
        },
    }
    assert [each.name for each in field(schema, REQUEST).fields] == ["root_pass", "label"]
    response = field(schema, RESPONSE).fields
    assert [each.name for each in response] == ["id", "label"]
    assert response[1].notes == ("can be filtered by",)


def test_a_reference_that_leads_nowhere_is_an_error():
    with pytest.raises(KeyError):
        field({"$ref": "#/components/schemas/Nothing"})
