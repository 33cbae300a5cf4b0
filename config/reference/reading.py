"""The OpenAPI document as sections of operations, each ready to be shown."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

import orjson
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from config.api.documents import document
from config.reference.fields import REQUEST, RESPONSE, Field, Schema, SchemaReader, written
from config.reference.markdown import Heading, html, html_with_headings, inline

METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"
FORM = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a body. `name` is empty if there is only one."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `place` is ``path``, ``query`` or ``header``. `value` is the initial text in the form."""

    place: str
    field: Field
    example: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request, in one media type. `start` is the initial text for trying it out."""

    media_type: str
    required: bool
    field: Field
    examples: tuple[Example, ...]
    start: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a status. `like` is an earlier status whose body has the same fields, or empty."""

    status: str
    description: SafeString
    media_type: str
    field: Field | None
    examples: tuple[Example, ...]
    headers: tuple[Field, ...]
    like: str

    @property
    def good(self) -> bool:
        return self.status.startswith("2")


@dataclass(frozen=True, slots=True)
class Parts:
    """The long parts of an operation."""

    parameters: tuple[Parameter, ...]
    bodies: tuple[Body, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Operation:
    """A method of a path.

    `scopes` are the scopes that a token needs. `public` operations also work without a token. `read` reads the long
    parts when they are first used: reading those of all operations takes a third of a second.
    """

    id: str
    method: str
    path: str
    summary: str
    description: SafeString
    words: str
    deprecated: bool
    public: bool
    scopes: tuple[str, ...]
    grant: str
    read: Callable[[], Parts] = field(repr=False)

    @cached_property
    def parts(self) -> Parts:
        return self.read()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.parts.parameters

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.parts.bodies

    @property
    def answers(self) -> tuple[Answer, ...]:
        return self.parts.answers

    def with_parts(self, **changed: Any) -> "Operation":
        """Return the operation with other parameters, bodies or answers."""
        parts = replace(self.parts, **changed)
        return replace(self, read=lambda: parts)

    @property
    def heading(self) -> SafeString:
        return inline(self.summary)

    @property
    def address(self) -> str:
        return reverse("docs-operation", args=[self.id])

    @property
    def accepts(self) -> str:
        """The kinds of token that the operation accepts, the kind with the least access first."""
        reads = not any(scope.endswith(":read_write") for scope in self.scopes)
        return " ".join([*["read_only"] * reads, "full", *["none"] * self.public, "pasted"])

    def with_ids(self, ids: Mapping[str, str]) -> "Operation":
        """Return the operation with other ids in its examples and in the descriptions of its parameters."""
        if not ids:
            return self
        json_texts = {f'"{seeded}"': f'"{own}"' for seeded, own in ids.items()}
        in_code = {f"<code>{escape(seeded)}</code>": f"<code>{escape(own)}</code>" for seeded, own in ids.items()}

        def shown(examples: tuple[Example, ...]) -> tuple[Example, ...]:
            return tuple(replace(each, text=_replaced(each.text, json_texts)) for each in examples)

        def described(field: Field) -> Field:
            # The ids and the description are already escaped.
            return replace(field, description=mark_safe(_replaced(field.description, in_code)))  # noqa: S308

        return self.with_parts(
            parameters=tuple(
                replace(each, field=described(each.field), example=ids.get(each.example, each.example))
                for each in self.parameters
            ),
            bodies=tuple(
                replace(each, examples=shown(each.examples), start=_replaced(each.start, json_texts))
                for each in self.bodies
            ),
            answers=tuple(replace(each, examples=shown(each.examples)) for each in self.answers),
        )


@dataclass(frozen=True, slots=True)
class Section:
    """The operations of one tag."""

    name: str
    anchor: str
    description: SafeString
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A whole document."""

    title: str
    version: str
    introduction: SafeString
    headings: tuple[Heading, ...]
    sections: tuple[Section, ...]
    operations: Mapping[str, Operation]
    """By id."""


@cache
def reference() -> Reference:
    """The reference of this installation's document, read once for each process."""
    return read(orjson.loads(document("json")))


def read(whole: Mapping[str, Any]) -> Reference:
    """Read a document of OpenAPI 3.0 or 3.1."""
    reader = _Reader(whole)
    about = {tag["name"]: tag.get("description", "") for tag in whole.get("tags", ())}
    by_tag: dict[str, list[Operation]] = {name: [] for name in about}
    for path, item in whole["paths"].items():
        for method in METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["other"])[0]
                by_tag.setdefault(tag, []).append(reader.operation(method, path, item))
    sections = [
        Section(name, f"section-{name.replace(' ', '-')}", html(about.get(name, ""), top=4), tuple(operations))
        for name, operations in by_tag.items()
        if operations
    ]
    info = whole["info"]
    introduction, headings = html_with_headings(info.get("description", ""))
    return Reference(
        title=info["title"],
        version=info["version"],
        introduction=introduction,
        headings=tuple(headings),
        sections=tuple(sections),
        operations={each.id: each for section in sections for each in section.operations},
    )


class _Reader(SchemaReader):
    def operation(self, method: str, path: str, item: Mapping[str, Any]) -> Operation:
        given = item[method]
        public, scopes = self.security(given)
        description = str(given.get("description", "")).strip()
        return Operation(
            id=given["operationId"],
            method=method.upper(),
            path=path,
            summary=given.get("summary") or f"{method.upper()} {path}",
            description=html(description),
            words=description,
            deprecated=bool(given.get("deprecated")),
            public=public,
            scopes=scopes,
            grant=given.get("x-grant", ""),
            read=partial(self.parts, item, given),
        )

    def parts(self, item: Mapping[str, Any], given: Mapping[str, Any]) -> Parts:
        return Parts(
            parameters=tuple(self.parameters([*item.get("parameters", ()), *given.get("parameters", ())])),
            bodies=tuple(self.bodies(self.resolved(given.get("requestBody")))),
            answers=tuple(self.answers(given.get("responses", {}))),
        )

    def security(self, given: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
        """Return whether the operation works without a token, and the scopes that a token needs."""
        ways = given.get("security", self.document.get("security", []))
        scopes = dict.fromkeys(name for way in ways for names in way.values() for name in names)
        return not ways or {} in ways, tuple(scopes)

    def parameters(self, given: list[Mapping[str, Any]]) -> Iterator[Parameter]:
        for parameter in map(self.resolved, given):
            schema: dict[str, Any] = {
                **self.resolved(parameter.get("schema")),
                **{key: parameter[key] for key in ("description", "deprecated", "example") if key in parameter},
            }
            if listed := parameter.get("examples"):
                schema["example"] = self.resolved(next(iter(listed.values()))).get("value")
            examples = schema.get("examples")
            example = schema.get("example", examples[0] if isinstance(examples, list) and examples else "")
            field = self.field(parameter["name"], schema, REQUEST, bool(parameter.get("required")))
            yield Parameter(parameter["in"], field, written(example) if example != "" else "")

    def bodies(self, body: Mapping[str, Any]) -> Iterator[Body]:
        for media_type, content in body.get("content", {}).items():
            schema = content.get("schema", {})
            examples = tuple(self.examples(content, schema))
            sample = indented(self.sample(schema)) if media_type == JSON else ""
            start = examples[0].text if examples else sample
            field = self.field("", schema, REQUEST)
            yield Body(media_type, bool(body.get("required")), field, examples, start)

    def answers(self, responses: Mapping[str, Any]) -> Iterator[Answer]:
        before: dict[Field, str] = {}
        for status, given in responses.items():
            answer = self.resolved(given)
            contents: dict[str, Any] = answer.get("content", {})
            media_type = next(iter(contents), "")
            content = contents.get(media_type, {})
            schema = content.get("schema", {})
            field = self.field("", schema, RESPONSE) if media_type else None
            like = before.get(field, "") if field and field.fields else ""
            if field and not like:
                before[field] = status
            headers = tuple(
                self.field(name, self.header(header), RESPONSE)
                for name, header in answer.get("headers", {}).items()
            )
            description = html(answer.get("description", ""), top=4)
            examples = tuple(self.examples(content, schema))
            yield Answer(status, description, media_type, field, examples, headers, like)

    def header(self, given: Mapping[str, Any]) -> Schema:
        whole = self.resolved(given)
        described = {"description": whole["description"]} if "description" in whole else {}
        return {**self.resolved(whole.get("schema")), **described}

    def examples(self, content: Mapping[str, Any], schema: Schema) -> Iterator[Example]:
        """Yield the examples of a body, or else the examples of its schema."""
        if listed := content.get("examples"):
            for name, example in listed.items():
                whole = self.resolved(example)
                words = (whole.get("summary") or name) if len(listed) > 1 else ""
                yield Example(words, indented(whole.get("value")))
            return
        whole = self.resolved(schema)
        several = whole.get("examples")
        given = [content["example"]] if "example" in content else several if isinstance(several, list) else []
        if not given and "example" in whole:
            given = [whole["example"]]
        for number, value in enumerate(given, start=1):
            yield Example(f"Example {number}" if len(given) > 1 else "", indented(value))

    def sample(self, schema: Schema) -> Any:
        """Return a value of the schema: its example or default, or else an object with the required properties."""
        whole = self.alternatives(self.resolved(schema))[0][0]
        examples = whole.get("examples")
        if isinstance(examples, list) and examples:
            return examples[0]
        for key in ("example", "default", "const"):
            if key in whole:
                return whole[key]
        if whole.get("enum"):
            return whole["enum"][0]
        properties = whole.get("properties", {})
        empty = {"string": "", "integer": whole.get("minimum", 0), "number": 0, "boolean": False, "array": []}
        kind = self.type_of(whole).split(" ")[0]
        if kind in empty:
            return empty[kind]
        return {name: self.sample(properties[name]) for name in whole.get("required", ()) if name in properties}


def _replaced(text: str, others: Mapping[str, str]) -> str:
    """Replace the keys of `others` in the text in one pass, because a replacement may be the key of another."""
    return re.sub("|".join(map(re.escape, others)), lambda match: others[match[0]], text)


def indented(value: Any) -> str:
    """Return a value as JSON over several lines. A text, such as a body that is no JSON, is returned unchanged."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
