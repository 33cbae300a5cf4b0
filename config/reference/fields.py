"""The schemas of the OpenAPI document, 3.0 or 3.1, as trees of fields that a page can show."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from config.reference.markdown import html

Schema = Mapping[str, Any]

REQUEST, RESPONSE = "request", "response"
HIDDEN = {REQUEST: "readOnly", RESPONSE: "writeOnly"}
"""The mark of fields that are absent in that direction."""
NULL = "null"
MAX_NUMBERS = {"int32": 2**31 - 1, "int64": 2**63 - 1}
"""The largest number of a format."""
UNITS = {"string": "characters", "array": "items", "object": "properties"}
BOUNDS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
NOTHING = mark_safe("")
DESCRIBED = ("x-enum-descriptions", "x-enumDescriptions")
"""Common extensions for descriptions of an enum's values: a list, or an object by value."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an enum, in JSON notation, but texts without their quotes."""

    value: str
    description: SafeString


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, a property of a body, or a whole body.

    `type` is in words: ``array of strings, or null``. Only fields of requests are `required`. `notes` are bounds,
    the default and so on, each a short text. `fields` are those of the object, or of the objects in the array.
    """

    name: str
    type: str
    required: bool = False
    notes: tuple[str, ...] = ()
    description: SafeString = NOTHING
    choices: tuple[Choice, ...] = ()
    fields: tuple["Field", ...] = ()

    @property
    def undescribed_choices(self) -> tuple[Choice, ...]:
        """The choices, unless the description itself names them all."""
        described = all(f"<code>{escape(choice.value)}</code>" in self.description for choice in self.choices)
        return () if described else self.choices

    def walk(self) -> Iterator["Field"]:
        """Yield all fields below this one, at any depth."""
        for field in self.fields:
            yield field
            yield from field.walk()


class SchemaReader:
    """Reads the schemas of one document, and follows its references.

    A schema that contains itself is shown once: its fields are omitted inside itself.
    """

    def __init__(self, document: Mapping[str, Any]):
        self.document = document
        self._read: dict[tuple[tuple[str, ...], str], tuple[Field, ...]] = {}

    def field(
        self, name: str, schema: Schema, direction: str, required: bool = False, within: tuple[str, ...] = ()
    ) -> Field:
        """Return the schema as a field with the name `name`.

        `within` are the references that were followed to it.
        """
        within = (*within, *self.references(schema))
        whole = self.resolved(schema)
        shapes, _ = self.alternatives(whole)
        item = self.resolved(whole["items"]) if isinstance(whole.get("items"), Mapping) else {}
        choices = tuple(_choices(whole, shapes)) or tuple(_choices(item, self.alternatives(item)[0]))
        return Field(
            name=name,
            type=self.words(whole),
            required=required and direction == REQUEST,
            notes=tuple(_notes(whole, direction)),
            description=html(str(whole.get("description", "")).strip(), top=4),
            choices=choices,
            fields=() if choices else self.fields(schema, shapes, direction, within),
        )

    def fields(
        self, schema: Schema, shapes: list[Schema], direction: str, within: tuple[str, ...]
    ) -> tuple[Field, ...]:
        """Return the fields of a schema. A plain reference is read once for all places with the same `within`."""
        if set(schema) - {"description"} != {"$ref"}:
            return tuple(self.inner(shapes, direction, within))
        key = within, direction
        if key not in self._read:
            self._read[key] = tuple(self.inner(shapes, direction, within))
        return self._read[key]

    def inner(self, shapes: list[Schema], direction: str, within: tuple[str, ...]) -> Iterator[Field]:
        """Yield the fields of an object, or of the objects in an array.

        For several shapes, yield one field for each.
        """
        for number, shape in enumerate(shapes):
            fields = tuple(self.properties(shape, direction, within))
            if len(shapes) == 1:
                yield from fields
            elif fields:
                yield Field("or" if number else "either", self.type_of(shape), fields=fields)

    def properties(self, shape: Schema, direction: str, within: tuple[str, ...]) -> Iterator[Field]:
        for key in ("items", "additionalProperties"):
            below = shape.get(key)
            if isinstance(below, Mapping) and not set(references := self.references(below)) & set(within):
                reached = self.alternatives(self.resolved(below))[0]
                yield from self.inner(reached, direction, (*within, *references))
        needed = shape.get("required", ())
        for name, child in shape.get("properties", {}).items():
            references = self.references(child)
            whole = self.resolved(child)
            if whole.get(HIDDEN[direction]):
                continue
            if set(references) & set(within):
                yield Field(name, self.words(whole), name in needed and direction == REQUEST)
            else:
                yield self.field(name, child, direction, name in needed, within)

    def references(self, schema: Schema) -> tuple[str, ...]:
        """Return the references that are followed to read the schema, up to its properties and items."""
        parts = [part for key in ("allOf", "oneOf", "anyOf") for part in schema.get(key, ())]
        return tuple(part["$ref"] for part in (schema, *parts) if "$ref" in part)

    def resolved(self, schema: Any) -> dict[str, Any]:
        """Return the schema with its references followed and ``allOf`` merged.

        The schema's own keywords take precedence.
        """
        if not isinstance(schema, Mapping):
            return {}  # true and false are schemas too: anything, and nothing
        whole = dict(schema)
        seen = set()
        while (reference := whole.pop("$ref", None)) is not None and reference not in seen:
            seen.add(reference)
            whole = {**self.referred(reference), **whole}
        for part in whole.pop("allOf", ()):
            other = self.resolved(part)
            properties = {**other.get("properties", {}), **whole.get("properties", {})}
            required = [*other.get("required", ()), *whole.get("required", ())]
            whole = {**other, **whole}
            if properties:
                whole["properties"] = properties
            if required:
                whole["required"] = required
        return whole

    def referred(self, reference: str) -> Mapping[str, Any]:
        """Return the target of a reference within the document. Raises KeyError if there is none."""
        found: Any = self.document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def alternatives(self, whole: Schema) -> tuple[list[Schema], bool]:
        """Return the shapes that a value can have besides null, and whether it can be null."""
        listed = whole.get("oneOf") or whole.get("anyOf") or ()
        shapes = [self.resolved(each) for each in listed]
        null = (
            bool(whole.get("nullable"))
            or NULL in _types(whole)
            or any(NULL in _types(shape) or shape.get("nullable") for shape in shapes)
        )
        real = [shape for shape in shapes if _types(shape) != [NULL] and shape.get("enum") != [None]]
        if not real:
            return [whole], null
        common = {key: value for key, value in whole.items() if key not in ("oneOf", "anyOf", "description")}
        return [{**common, **shape} for shape in real], null

    def words(self, whole: Schema) -> str:
        """Return the type in words, with all alternatives."""
        shapes, null = self.alternatives(whole)
        words = " or ".join(dict.fromkeys(self.type_of(shape) for shape in shapes))
        return f"{words}, or null" if null else words

    def type_of(self, shape: Schema, many: bool = False) -> str:
        """Return the type in words, in the plural for `many`: ``array of strings``."""
        kinds = [kind for kind in _types(shape) if kind != NULL]
        words = []
        for kind in kinds:
            if kind == "array":
                shapes, null = self.alternatives(self.resolved(shape.get("items", {})))
                inner = " or ".join(dict.fromkeys(self.type_of(each, many=True) for each in shapes))
                words.append(f"{'arrays' if many else 'array'} of {inner}{' or null' if null else ''}")
            else:
                words.append(f"{kind}s" if many else kind)
        if not words:
            return "values of any type" if many else "any type"
        form = shape.get("format")
        return " or ".join(words) + (f" ({form})" if form and "array" not in kinds else "")


def _types(schema: Schema) -> list[str]:
    """Return the types that a schema names, or that follow from its keywords."""
    named = schema.get("type")
    if named is not None:
        return [named] if isinstance(named, str) else list(named)
    if "properties" in schema or "additionalProperties" in schema:
        return ["object"]
    if "items" in schema:
        return ["array"]
    values = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else []
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): NULL}
    return list(dict.fromkeys(names[type(value)] for value in values if type(value) in names))


def written(value: Any) -> str:
    """Return a value in JSON notation, but texts without their quotes."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _choices(whole: Schema, shapes: list[Schema]) -> Iterator[Choice]:
    """Yield the values of an enum, or of alternatives that are one value each."""
    if all("const" in shape for shape in shapes):
        for shape in shapes if len(shapes) > 1 else ():
            yield Choice(written(shape["const"]), html(shape.get("description") or shape.get("title", ""), top=5))
        return
    source = whole if "enum" in whole else shapes[0] if len(shapes) == 1 else {}
    values = [value for value in source.get("enum", ()) if value is not None]
    about: Any = next((source[name] for name in DESCRIBED if name in source), {})
    for number, value in enumerate(values):
        if isinstance(about, Mapping):
            words = about.get(written(value), "")
        else:
            words = about[number] if number < len(about) else ""
        yield Choice(written(value), html(str(words), top=5))


def _notes(whole: Schema, direction: str) -> Iterator[str]:
    kinds = _types(whole)
    for kind, (low, high) in BOUNDS.items():
        if kind in kinds:
            yield from _bounds(whole.get(low), whole.get(high), f" {UNITS[kind]}")
    yield from _bounds(whole.get("minimum"), _stated_maximum(whole), "")
    exclusive = whole.get("exclusiveMinimum"), whole.get("exclusiveMaximum")
    for bound, word in zip(exclusive, ("more than", "less than"), strict=True):
        if bound is not None and not isinstance(bound, bool):
            yield f"{word} {written(bound)}"
    if "multipleOf" in whole:
        yield f"a multiple of {written(whole['multipleOf'])}"
    if "pattern" in whole:
        yield f"pattern {whole['pattern']}"
    if whole.get("uniqueItems"):
        yield "no item twice"
    if "const" in whole:
        yield f"always {written(whole['const'])}"
    if "default" in whole:
        yield f"default {written(whole['default'])}"
    examples = whole.get("examples")
    example = examples[0] if isinstance(examples, list) and examples else whole.get("example")
    if example is not None and not isinstance(example, dict | list):
        yield f"such as {written(example)}"
    if direction == REQUEST and whole.get("writeOnly"):
        yield "never shown again"
    if direction == RESPONSE and whole.get("x-filterable"):
        yield "can be filtered by"
    if whole.get("deprecated"):
        yield "deprecated"


def _stated_maximum(whole: Schema) -> Any:
    """Return the maximum of a number, or None if it is the maximum of the format."""
    high = whole.get("maximum")
    return None if high == MAX_NUMBERS.get(whole.get("format", "")) else high


def _bounds(low: Any, high: Any, unit: str) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
    elif high is not None:
        yield f"at most {high}{unit}"
    elif low and unit:
        yield f"at least {low}{unit}" if low > 1 else "not empty"
    elif low is not None and not unit:
        yield f"at least {low}"
