"""`Resource`: one readable declaration for output, input and the OpenAPI document.

::

    class Specs(Resource):
        disk = IntegerField(source="type.disk")
        memory = IntegerField(source="type.memory")

    class InstanceResource(Resource):
        id = IntegerField(read_only=True)
        label = CharField(min_length=3, max_length=64)
        class_ = CharField(source="type_class")  # a Python keyword: the trailing underscore is dropped
        specs = Specs(source="*", read_only=True)

        class Meta:
            filterable = ("id", "label")

Output never walks these fields per object (see `config.api.rendering`). Input is validated by DRF, with the
contract's reasons, strict about JSON types, and with null for arrays and objects taken as not given.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from config.api import reasons, unsupported
from config.api.filters import Filterable, filterables
from config.api.rendering import Shape, compile_shape

CONTAINERS = (serializers.BaseSerializer, serializers.ListField, serializers.DictField, serializers.JSONField)
MOST_ITEMS = 10_000
"""How many items a list in a body has that declares no `max_length`: answering a million of them, each wrong, takes
a minute and 100 MB."""
JSON_TYPES: tuple[tuple[type[serializers.Field], tuple[type, ...]], ...] = (
    (serializers.IntegerField, (int,)),
    (serializers.FloatField, (int, float)),
    (serializers.DecimalField, (int, float, str)),
    (serializers.BooleanField, (bool,)),
    (serializers.CharField, (str,)),
    (serializers.DateTimeField, (str,)),
)


class Resource(serializers.Serializer):
    """Base of all resources.

    `Meta.filterable` names the fields that collection filters accept; `Meta.read_only` makes all fields
    read-only.
    """

    if TYPE_CHECKING:
        # Fields of a resource may be called so: the metaclass takes them out of the class. Of DRF's own attributes
        # of these names, which its stubs give other types, nothing here reads any.
        label: Any
        data: Any
        errors: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unsupported.check_resource(cls)

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = super().get_fields()
        named = {name.rstrip("_"): field for name, field in declared.items()}
        read_only = getattr(getattr(self, "Meta", None), "read_only", False)
        for name, field in named.items():
            if read_only:
                field.read_only, field.required = True, False
            reasons.describe(name, field)
        return named

    @classmethod
    @cache
    def shape(cls) -> Shape:
        return compile_shape(cls())

    @classmethod
    @cache
    def names(cls) -> frozenset[str]:
        """The names of all fields on the wire."""
        return frozenset(cls().fields)

    @classmethod
    @cache
    def filterable(cls) -> dict[str, Filterable]:
        """The fields filters accept, by their name on the wire (``entity.id``)."""
        return filterables(cls(), getattr(getattr(cls, "Meta", None), "filterable", ()))

    @classmethod
    @cache
    def _validator(cls, partial: bool) -> "Resource":
        # Making a serializer copies all its fields. Validation keeps nothing on it, so one serves all.
        return cls(partial=partial)

    @classmethod
    def validated(cls, data: dict[str, Any], partial: bool = False) -> dict[str, Any]:
        """The writable fields of a request's body, by their source. Raises with all failing fields at once.

        With `partial`, fields that are not given are left out: how PUT works here. Items of lists are whole.
        """
        return cls._validator(partial).run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            name = self.field_name or getattr(self.parent, "field_name", None) or "body"
            raise ValidationError([reasons.not_valid(name)])
        given: dict[str, Any] = {}
        wrong: dict[str, Any] = {}
        whole = self._in_a_list()
        for field in self._writable_fields:
            name = str(field.field_name)
            value = data.get(name)
            if name not in data or (value is None and isinstance(field, CONTAINERS)):
                if whole and field.required:
                    wrong[name] = [reasons.required(name)]
                continue
            problem: list | dict | None
            low, most = _numbers(field)
            if isinstance(value, list) and len(value) > most:
                # each of them could have a problem of its own: not looked at
                problem = [reasons.bounds(name, low, most, " items")]
            else:
                problem = _type_problem(field, name, value)
            if problem:
                wrong[name] = problem
            else:
                given[name] = value
        return self._validate_rest(given, wrong)

    def _in_a_list(self) -> bool:
        """Whether this is in an item of a list, which a PUT replaces as a whole: DRF alone asks the root if the
        body is partial, and lets items go without what they need."""
        above = self.parent
        while above is not None and not isinstance(above, serializers.ListSerializer):
            above = above.parent
        return above is not None

    def _validate_rest(self, given: dict[str, Any], wrong: dict[str, Any]) -> Any:
        """Validate the values that have the right JSON type, and report all others along with those that fail."""
        try:
            values = super().to_internal_value(given)
        except ValidationError as error:
            failed: Any = error.detail
            raise ValidationError({**failed, **wrong}) from error
        if wrong:
            raise ValidationError(wrong)
        return values


def _numbers(field: serializers.Field) -> tuple[int | None, int]:
    """How many items a list for this field has at least, where that is said, and at most."""
    if not hasattr(field, "child"):
        return None, MOST_ITEMS
    return getattr(field, "min_length", None), getattr(field, "max_length", None) or MOST_ITEMS


def _type_problem(field: serializers.Field, name: str, value: Any) -> list | dict | None:
    """The problem with the JSON type of `value`, if any: DRF alone would take 1 for true and 5 for "5"."""
    if value is None:
        return None
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        items = ((index, _type_problem(field.child, name, item)) for index, item in enumerate(value))
        return {index: problem for index, problem in items if problem} or None
    for kind, types in JSON_TYPES:
        if isinstance(field, kind):
            fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
            return None if fits else [reasons.not_valid(name)]
    return None
