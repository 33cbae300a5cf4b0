"""The OpenAPI document, out of what the views declare: scopes, grants, resources, filters."""

import inspect
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import Direction, OpenApiParameter
from rest_framework import serializers

from config.api import access, fields, pagination
from config.api.serializers import Resource

if TYPE_CHECKING:
    from config.api.views import ResourceViewSet

NUMBER = {"type": "integer", "readOnly": True}
Parameter: TypeAlias = OpenApiParameter | serializers.Serializer | type[serializers.Serializer]
PATH_PARAMETER = re.compile(r"<(\w+):(\w+)>")


class ErrorItem(Resource):
    field = serializers.CharField(
        allow_null=True, help_text="The failing element; a dotted path where nested; null where there is none."
    )
    reason = serializers.CharField()


class ErrorResource(Resource):
    """What every answer but a 2XX holds."""

    errors = ErrorItem(many=True)


def only_v4(endpoints: list[tuple]) -> list[tuple]:
    """Leave out the alias /v4beta, where the same endpoints answer."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v4/")]


class WrappingFieldExtension(OpenApiSerializerFieldExtension):
    """`Computed`, `Annotated` and `Constant` look like the field they wrap."""

    target_class = fields.Wrapping
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        child = self.target.child
        child.parent = self.target.parent
        return auto_schema._map_serializer_field(child, direction)


class ResourceSchema(AutoSchema):
    """Describes one operation of a `ResourceViewSet`."""

    view: "ResourceViewSet[Any, Any]"  # type: ignore[override] # it is the schema of no other views

    @property
    def scope(self) -> access.Scope:
        return self.view._scopes[self.view.action]

    def get_operation_id(self) -> str:
        words = [word.replace("-", "_") for word in self._tokenize_path()]
        if self.view.action == "list" and self.path.endswith("}"):
            words.append("members")  # of the one that the path names, beside the list of all such
        if words[-1] != self.view.action:
            words.append(self.view.action)
        return "_".join(words)

    def get_tags(self) -> list[str]:
        first, *rest = self._tokenize_path()
        return [" ".join([first, *rest[:1]]) if first in ("account", "compute", "networking") else first]

    def get_summary(self) -> str:
        action = self.view.action
        thing = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self.view).__name__.removesuffix("ViewSet")).lower()
        an = "an" if thing[0] in "aeiou" else "a"
        usual = {"list": f"List {self._tokenize_path()[-1].replace('-', ' ')}", "retrieve": f"Get {an} {thing}"}
        if action in usual:
            return usual[action]
        written = getattr(self.view, action).__doc__ or f"{action.replace('_', ' ').capitalize()} {an} {thing}"
        return written.strip().partition("\n")[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override] # as the library calls its own
        action = self.view.action
        if action in ("list", "retrieve"):
            text = type(self.view).__doc__ or ""
        else:
            text = (getattr(self.view, action).__doc__ or "").strip().partition("\n")[2]
        return "\n".join(line.strip() for line in text.strip().splitlines())

    def get_auth(self) -> list[dict[str, list[str]]]:
        scope = self.scope
        needed: list[dict[str, list[str]]] = []
        if scope.token or scope.names:
            needed = [{"personalAccessToken": []}, {"oauth": [*scope.names, *scope.also]}]
        return needed if scope.token else [*needed, {}]

    def get_extensions(self) -> dict[str, str]:
        grant = self.view.grants[self.view.action]
        return {} if grant == access.ANYONE else {"x-grant": grant}

    def get_override_parameters(self) -> list[Parameter]:
        parameters: list[Parameter] = [
            OpenApiParameter(
                name, OpenApiTypes.INT if kind in ("id", "int") else OpenApiTypes.STR, "path", required=True
            )
            for kind, name in PATH_PARAMETER.findall(self.path_regex)
        ]
        return [*parameters, *self.list_parameters()] if self.view.action == "list" else parameters

    def list_parameters(self) -> list[OpenApiParameter]:
        size = {
            "type": "integer",
            "minimum": pagination.SMALLEST_PAGE,
            "maximum": pagination.BIGGEST_PAGE,
            "default": pagination.DEFAULT_SIZE,
        }
        found = [
            OpenApiParameter("page", {"type": "integer", "minimum": 1, "default": 1}, "query"),
            OpenApiParameter("page_size", size, "query"),
        ]
        filterable = list(self.view.resource.filterable())
        if filterable:
            about = f"A filter, as a JSON object, on: {', '.join(filterable)}."
            found.append(OpenApiParameter("X-Filter", OpenApiTypes.STR, "header", description=about))
        return found

    def get_request_serializer(self) -> Any:
        if self.method not in ("POST", "PUT"):
            return None
        declared = self.view.requests.get(self.view.action)
        if declared is None:
            declared = self.view.resource if self.view.action in ("create", "update") else None
        return declared(partial=self.view.action == "update") if declared else None

    def _get_request_body(self, direction: Direction = "request") -> Any | None:
        # an action without a body takes none, where the library would document a free-form one
        return super()._get_request_body(direction) if self.get_request_serializer() else None

    def get_response_serializers(self) -> Any:
        return {"200": self.success(), "default": ErrorResource}

    def success(self) -> Any:
        view, action = self.view, self.view.action
        if action in view.responses:
            declared = view.responses[action]
            return {"type": "object"} if declared is None else declared
        if action == "list":
            return self.envelope(view.resource)
        return view.resource if action in ("retrieve", "create", "update") else {"type": "object"}

    def envelope(self, resource: type[Resource]) -> dict[str, Any]:
        item = self.resolve_serializer(resource, "response").ref
        data = {"type": "array", "items": item}
        return {
            "type": "object",
            "properties": {"data": data, "page": NUMBER, "pages": NUMBER, "results": NUMBER},
        }

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # the envelope is already written out above

    def get_serializer_name(self, serializer: serializers.BaseSerializer, direction: Direction) -> str:
        return type(serializer).__name__.removesuffix("Resource").removesuffix("Request")

    def _map_basic_serializer(self, serializer: serializers.BaseSerializer, direction: Direction) -> dict[str, Any]:
        schema = super()._map_basic_serializer(serializer, direction)
        schema.pop("description", None)
        if written := type(serializer).__dict__.get("__doc__"):
            schema["description"] = inspect.cleandoc(written)
        for name in getattr(getattr(serializer, "Meta", None), "filterable", ()):
            if direction == "response" and name in schema["properties"]:
                schema["properties"][name]["x-filterable"] = True
        return schema

    def _map_serializer_field(
        self, field: serializers.Field, direction: Direction, bypass_extensions: bool = False
    ) -> dict[str, Any]:
        schema = super()._map_serializer_field(field, direction, bypass_extensions)
        if schema:
            schema.pop("x-spec-enum-id", None)  # for a hook of the library that we do without
        many = field.child if isinstance(field, serializers.ListSerializer) else None
        if isinstance(many, Resource) and direction == "request":
            needed = [name for name, child in many.fields.items() if child.required]
            if needed:
                # has no meaning on an array; but the contract's own document has it there
                schema["required"] = needed
        return schema

    def _insert_field_validators(self, field: serializers.Field, schema: dict[str, Any]) -> None:
        super()._insert_field_validators(field, schema)
        choices = schema.get("oneOf", ())
        if len(choices) == 2 and choices[1].get("maxLength") == 0:
            # a text with bounds that may also be empty: say the bounds plainly, as the contract does
            del schema["oneOf"]
            schema.update(choices[0])
