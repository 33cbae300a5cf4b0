"""The OpenAPI document, made from the declarations of the views: scopes, grants, resources, filters."""

import inspect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import Direction, OpenApiParameter
from rest_framework import serializers

from config import word
from config.api import access, answers, fields, openapi
from config.api.common_fields import COMMON
from config.api.examples import examples
from config.api.filters import XFilterBackend
from config.api.meanings import Meanings
from config.api.operations import ANSWERED_BY_OBJECT, BY_ACTION, WITH_BODY, Operation
from config.api.paths import FIRST_YEAR, LAST_YEAR, MAX_ID
from config.api.serializers import Resource

if TYPE_CHECKING:
    from config.api.generics import GenericViewSet

Parameter: TypeAlias = OpenApiParameter | serializers.Serializer | type[serializers.Serializer]
PATH_PARAMETER = re.compile(r"<(\w+):(\w+)>")
ID = {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID}
NUMBERS = {
    "year": {"type": "integer", "minimum": FIRST_YEAR, "maximum": LAST_YEAR},
    "month": {"type": "integer", "minimum": 1, "maximum": 12},
}
STANDARD = {"list", "retrieve", "create", "update", "destroy"}
VERBS = {"GET": "retrieve", "PUT": "update", "POST": "create", "DELETE": "destroy"}
EMPTY = {"type": "object", "description": "Nothing: an empty object.", "additionalProperties": False}


class ErrorItem(Resource):
    """One error of a request."""

    field = serializers.CharField(
        allow_null=True,
        help_text="The field or parameter that is not valid, with its path if it is nested, such as "
        "`interfaces[0].label`. Null if no single field is the cause.",
    )
    reason = serializers.CharField(help_text="A sentence that describes the problem.")


class ErrorResource(Resource):
    """The body of every answer except 2XX."""

    errors = ErrorItem(many=True, help_text="All problems, at least one.")


def only_v4(endpoints: list[tuple]) -> list[tuple]:
    """Omit the alias /v4beta, which has the same endpoints."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v4/")]


def with_answers(result: dict[str, Any], **of_the_generator: Any) -> dict[str, Any]:
    """Add the answers and headers that all operations have in common to the `result` of the generator."""
    return {**result, "components": {**result["components"], **answers.components()}}


def with_word(result: dict[str, Any], **of_the_generator: Any) -> dict[str, Any]:
    """Give names and descriptions of the document, the `result` of the generator, the word of the installation.

    The document has no text of a customer: its examples are the project's own.
    """
    return word.WORD.renamed(result)


class WrappingFieldExtension(OpenApiSerializerFieldExtension):
    """Describes `Computed`, `Annotated` and `Constant` like the field that they wrap."""

    target_class = fields.Wrapping
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        if direction == "request":
            return {}  # the field is read-only, and so absent from requests
        child = self.target.child
        child.parent = self.target.parent
        return auto_schema._map_serializer_field(child, direction)


class ResourceSchema(AutoSchema):
    """Describes one operation of a `GenericViewSet`."""

    view: "GenericViewSet[Any, Any]"  # type: ignore[override] # it is the schema of no other views

    @property
    def operation(self) -> Operation:
        return self.view.operations[self.view.action]

    @property
    def scope(self) -> access.Scope:
        return self.operation.scope

    @property
    def grant(self) -> str:
        return self.operation.grant

    @property
    def words(self) -> list[str]:
        """The words of the path, without its parameters, in the neutral form."""
        return [word.to_neutral(each) for each in self._tokenize_path()]

    @property
    def example(self) -> dict[str, Any]:
        """An example of a request and an answer, as far as they are JSON."""
        return examples().get(f"{self.method} {word.to_neutral(self.path)}", {})

    def get_operation_id(self) -> str:
        """Return the path's words and the action, such as ``compute_instances_list``: names for methods of SDKs.

        A path that ends in a verb needs no other verb. An action with a name of its own uses the verb of its
        method.
        """
        action, words = self.view.action, [each.replace("-", "_") for each in self.words]
        if self.operation.noun:
            return "_".join([*words, self.operation.noun])
        if action == "list" and self.path.endswith("}"):
            words.append("members")  # of one object; the list of all objects has the plain name
        if action in STANDARD:
            return "_".join([*words, action])
        if self.method == "POST" and self.words[-1] not in openapi.NOUNS:
            return "_".join(words)
        return "_".join([*words, VERBS[self.method]])

    def get_tags(self) -> list[str]:
        first, *rest = self.words
        return [" ".join([first, *rest[:1]]) if first in ("account", "compute", "networking") else first]

    def get_summary(self) -> str:
        action, words = self.view.action, self.words
        if action == "list" and not self.path.endswith("}"):
            _, many = openapi.noun(words)
            path = word.to_neutral(self.path)
            within = [each for each in words[:-1] if f"/{each}/{{" in path]
            return f"List {many}" + (f" of {_with_article(openapi.noun(within)[0])}" if within else "")
        if action == "retrieve" and self.path.endswith("}"):
            return f"Get {_with_article(openapi.noun(words)[0])}"
        return _sentences(self._written(action))[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override] # as the library calls its own
        action = self.view.action
        if action == "list" or (action == "retrieve" and self.is_of_noun):
            parts = [inspect.cleandoc(type(self.view).__doc__ or "")]
        else:
            _, *rest = self._written(action).partition("\n")
            _, *others = _sentences(self._written(action))
            parts = [" ".join(others), "".join(rest).strip()]
        parts.append(self.access_in_words())
        return "\n\n".join(part for part in parts if part)

    @property
    def is_of_noun(self) -> bool:
        """Tell whether the path ends with an id or the noun of a single object.

        Then the view's docstring describes it.
        """
        return self.path.endswith("}") or self.words[-1] in openapi.SINGLE

    def _written(self, action: str) -> str:
        """Return the action's docstring. For `retrieve` of a single object, return a sentence with its noun."""
        written = getattr(self.view, action).__doc__
        if action == "retrieve" and self.is_of_noun:
            written = f"Get {openapi.SINGLE[self.words[-1]]}."
        return inspect.cleandoc(written or "")

    def access_in_words(self) -> str:
        """Return the required scopes of the token, the required grant of the user, and whether the action has its
        own limit.
        """
        scope, grant = self.scope, self.grant
        names = " and ".join(f"`{name}`" for name in scope.names)
        needed = [_needed(scope, names)]
        if grant in GRANTS:
            needed.append(GRANTS[grant])
        elif grant in (access.READ_ONLY, access.READ_WRITE):
            needed.append(f"A restricted user needs `{grant}` on the object." if self._parameters else SEEN[grant])
        elif grant != access.ANYONE:
            needed.append(f"A restricted user needs the grant `{grant}`.")
        if self.operation.throttle_scope:
            needed.append("The operation has its own rate limit (see *Limits*).")
        return " ".join(each for each in needed if each)

    def get_auth(self) -> list[dict[str, list[str]]]:
        scope = self.scope
        needed: list[dict[str, list[str]]] = []
        if scope.token or scope.names:
            needed = [{"personalAccessToken": []}, {"oauth": [*scope.names, *scope.also]}]
        return needed if scope.token else [*needed, {}]

    def get_extensions(self) -> dict[str, str]:
        return {} if self.grant == access.ANYONE else {"x-grant": self.grant}

    @property
    def _parameters(self) -> list[tuple[str, str]]:
        """The kind and name of each of the path's parameters."""
        return PATH_PARAMETER.findall(self.path_regex)

    def get_override_parameters(self) -> list[Parameter]:
        parameters: list[Parameter] = [self.path_parameter(kind, name) for kind, name in self._parameters]
        return [*parameters, *self.list_parameters()] if self.view.action == "list" else parameters

    def path_parameter(self, kind: str, name: str) -> OpenApiParameter:
        path = word.to_neutral(self.path.partition(f"{{{name}}}")[0])
        before = [each for each in path.strip("/").split("/") if each[0] != "{"]
        about = (
            openapi.KEYS.get(name) or openapi.KEYS.get(before[-1]) or f"The id of the {openapi.noun(before)[0]}."
        )
        if (before[0], before[-1]) == ("v4", "ips") and "compute" in before:
            about = openapi.KEYS["ips"]
        schema = ID if kind == "id" else NUMBERS[name] if kind == "int" else OpenApiTypes.STR
        return OpenApiParameter(name, schema, "path", required=True, description=about)

    def list_parameters(self) -> list[OpenApiParameter]:
        paginator: Any = self.view.paginator
        found = [
            OpenApiParameter(each["name"], each["schema"], each["in"], description=each["description"])
            for each in paginator.get_schema_operation_parameters(self.view)
        ]
        for each in XFilterBackend().get_schema_operation_parameters(self.view):
            about = each["description"]
            found.append(OpenApiParameter(each["name"], OpenApiTypes.STR, each["in"], description=about))
        return found

    def get_request_serializer(self) -> Any:
        if self.method not in ("POST", "PUT"):
            return None
        declared = self.operation.request
        if declared is BY_ACTION:
            declared = self.view.serializer_class if self.view.action in WITH_BODY else None
        return declared(partial=self.view.action == "update" and not self.operation.whole) if declared else None

    def _get_request_body(self, direction: Direction = "request") -> Any | None:
        # An action without a body takes none. The library would document a free-form body.
        declared = self.get_request_serializer()
        if not declared:
            return None
        body = super()._get_request_body(direction)
        if body and isinstance(declared, Resource):
            needed = self.method == "POST" and any(field.required for field in declared.fields.values())
            body["required"] = needed
        if body and "application/json" not in body["content"]:
            body["required"] = True  # a file. An object without fields may be missing.
        if body and "request" in self.example:
            body["content"]["application/json"]["example"] = self.example["request"]
        return body

    def get_response_serializers(self) -> Any:
        return {"200": self.success()}

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        found = super()._get_response_bodies(direction)
        self.resolve_serializer(ErrorResource, "response")
        for answer in found.values():
            answer["description"] = answer.get("description") or self.good_answer
        if "response" in self.example:
            found["200"]["content"]["application/json"]["example"] = self.example["response"]
        return {**found, **answers.references(self.refused())}

    @property
    def good_answer(self) -> str:
        """Return the description of the successful answer, unless it is written out."""
        answered = self.operation.response is not None
        return openapi.ANSWERS.get(self.view.action, "Done.") if answered else "Done."

    def refused(self) -> list[int]:
        """Return the statuses that refuse the operation."""
        statuses = answers.refused(
            self.grant,
            writes=self.method != "GET",
            body=self._get_request_body() is not None,
            path=bool(self._parameters),
            listed=self.view.action == "list",
        )
        return sorted({*statuses, *self.operation.refusals})

    def success(self) -> Any:
        action, declared = self.view.action, self.operation.response
        if declared is BY_ACTION:
            declared = self.view.serializer_class if action in ANSWERED_BY_OBJECT else None
        if declared is None:
            return self.component("Empty", EMPTY)
        return self.page_of(declared) if action == "list" else declared

    def component(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a reference to a schema among the components."""
        found = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema, object=name)
        self.registry.register_on_missing(found)
        return found.ref

    def page_of(self, resource: type[Resource]) -> dict[str, Any]:
        """Return the schema of a page of a list."""
        item = self.resolve_serializer(resource, "response")
        filters = self.view.filterset_class.base_filters if self.view.filterset_class else ()
        for name, found in item.schema["properties"].items():
            if name in filters:
                found["x-filterable"] = True
        paginator: Any = self.view.paginator
        page = paginator.get_paginated_response_schema({"type": "array", "items": item.ref})
        schema = {"type": "object", "description": f"A page of a list: {openapi.noun(self.words)[1]}.", **page}
        return self.component(f"{item.name}Page", schema)

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # the page is already written out above

    def get_serializer_name(self, serializer: serializers.BaseSerializer, direction: Direction) -> str:
        name = type(serializer).__name__
        for suffix in ("Resource", "Request", "Wish"):
            name = name.removesuffix(suffix)
        return name

    def _get_serializer_name(self, serializer: Any, direction: Direction, bypass_extensions: bool = False) -> str:
        name = super()._get_serializer_name(serializer, direction, bypass_extensions)
        if not name.startswith("Patched"):
            return name
        return name.removeprefix("Patched").removesuffix("Request").removesuffix("Update") + "UpdateRequest"

    def _map_basic_serializer(self, serializer: serializers.BaseSerializer, direction: Direction) -> dict[str, Any]:
        schema = super()._map_basic_serializer(serializer, direction)
        schema.pop("description", None)
        if written := type(serializer).__dict__.get("__doc__"):
            schema["description"] = inspect.cleandoc(written)
        meta = getattr(serializer, "Meta", None)
        for name, found in schema.get("properties", {}).items():
            if "description" not in found and (text := _text_of(serializer, name)):
                _describe(found, text)
        for name, found in schema.get("properties", {}).items():
            if "items" in found and "required" in found and direction == "request":
                schema["properties"][name] = self._named(name, found)
            if direction == "response":
                _without_bounds(found)
                declared: Any = serializer
                if getattr(declared.fields[name], "allow_blank", False):
                    found.pop("format", None)
        if direction == "response":
            required = _always(serializer, getattr(meta, "sometimes", ()))
            schema["required"] = [name for name in schema.get("properties", {}) if name in required]
        return schema

    def _map_serializer(
        self, serializer: Any, direction: Direction, bypass_extensions: bool = False
    ) -> dict[str, Any]:
        schema = super()._map_serializer(serializer, direction, bypass_extensions)
        if direction == "request" and "required" in schema:
            schema["required"].sort(key=word.to_neutral)  # the library sorts by the names on the wire
        for found in schema.get("properties", {}).values():
            # Each component is for one direction, and has no fields of the other.
            found.pop("readOnly", None)
            found.pop("writeOnly", None)
        return schema

    def _named(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a list of objects as a component of its own, which repeats the required fields of its objects.

        `required` has no meaning on an array, but the contract's own document has it there. It does no harm on a
        reference. `properties` are there for linters, which report a required name without a property as a mistake.
        """
        required, about = schema.pop("required"), schema.pop("description")
        of = schema["items"].get("$ref", f"/{name.removesuffix('s').capitalize()}").rpartition("/")[2]
        nullable = "Nullable" if "null" in schema["type"] else ""
        listed = {**schema, "description": "A list of complete objects."}
        reference = self.component(f"{nullable}{of}List", listed)
        properties = {each: {"description": "A field of each item."} for each in required}
        return {**reference, "description": about, "required": required, "properties": properties}

    def _map_serializer_field(
        self, field: serializers.Field, direction: Direction, bypass_extensions: bool = False
    ) -> dict[str, Any]:
        schema = super()._map_serializer_field(field, direction, bypass_extensions)
        if schema:
            schema.pop("x-spec-enum-id", None)  # for a hook of the library that this project does not use
            if schema.get("format") == "date-time":
                schema["format"] = "date-time-local"  # `date-time` has an offset, the API's times have none
            if field.help_text:
                _describe(schema, field.help_text)  # type: ignore[arg-type] # none of ours is translated
        many = field.child if isinstance(field, serializers.ListSerializer) else None
        if isinstance(many, Resource) and direction == "request":
            needed = [name for name, child in many.fields.items() if child.required]
            if needed:
                schema["required"] = needed  # see `_named`
        return schema

    def _insert_field_validators(self, field: serializers.Field, schema: dict[str, Any]) -> None:
        super()._insert_field_validators(field, schema)
        choices = schema.get("oneOf", ())
        if len(choices) == 2 and choices[1].get("maxLength") == 0:
            # A text with bounds that may also be empty: write the bounds directly, as the contract does.
            del schema["oneOf"]
            schema.update(choices[0])


def _without_bounds(schema: dict[str, Any]) -> None:
    """Remove the bounds that apply only to input: a stored value may be empty, or older than a bound."""
    for name in ("minLength", "pattern"):
        schema.pop(name, None)
    items = schema.get("items")
    if isinstance(items, dict):
        schema.pop("required", None)
        for child in (items, *items.get("properties", {}).values()):
            _without_bounds(child)


def _text_of(serializer: Any, name: str) -> str | None:
    """Return the description of a field without a `help_text`.

    The text comes from a base class, from a resource in `Meta.as_in`, or from the common descriptions.
    """
    others = getattr(getattr(serializer, "Meta", None), "as_in", ())
    for resource in (*type(serializer).__mro__, *others):
        declared = getattr(resource, "_declared_fields", {})
        neutral = word.to_neutral(name)
        field = declared.get(neutral) or declared.get(f"{neutral}_")
        if field is not None and field.help_text:
            return field.help_text
    return COMMON.get(word.to_neutral(name))


def _describe(schema: dict[str, Any], text: str) -> None:
    """Give a schema its description, and the meanings of its enum's values."""
    schema["description"] = str(text)
    if isinstance(text, Meanings):
        schema["description"] = text.table
        schema["x-enum-descriptions"] = dict(text.values)


def _always(serializer: Any, sometimes: Iterable[str]) -> set[str]:
    """Return the names of the fields that each answer has."""
    left_out = {name for name, field in serializer.fields.items() if isinstance(field, fields.Absent)}
    return set(serializer.fields) - left_out - set(map(word.on_wire, sometimes))


def _sentences(written: str) -> list[str]:
    """Return the sentences of a docstring's first paragraph."""
    return re.split(r"(?<=\.) (?=[A-Z`])", " ".join(written.partition("\n\n")[0].split()))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _with_article(thing: str) -> str:
    vowel = thing.startswith("SSH") or (thing[0] in "aeiouAEIO" and not thing.startswith("user"))
    return f"{'an' if vowel else 'a'} {thing}"


def _needed(scope: access.Scope, names: str) -> str:
    if scope.token:
        return f"The token needs {names}." if names else "Any valid token is accepted, with any scopes."
    if not names:
        return "No token is needed."
    if scope.enforced:
        return f"No token is needed. A token, if sent, needs {names}."
    return f"No token is needed for public objects. Other objects need a token with {names}."


GRANTS = {
    access.ACCOUNT_READ: "A restricted user needs `account_access`.",
    access.ACCOUNT_WRITE: "A restricted user needs `account_access` with `read_write`.",
    access.UNRESTRICTED: "For unrestricted users only.",
}
SEEN = {
    access.READ_ONLY: "A restricted user sees only objects that its grants allow.",
    access.READ_WRITE: "A restricted user needs `read_write` on the objects that the body names.",
}
