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

A resource is a DRF serializer: `data`, `is_valid()`, `validated_data`, `errors`, `many`, `partial` and `context`
mean what DRF says. Output is fast: it does not walk these fields for each object, but calls one function that is
compiled from them (see `config.api.rendering`). If a resource or one of its fields overrides a method of DRF's
walk, such as `to_representation`, then `data` is the result of that walk.

Input is validated by DRF, with the contract's reasons, strict about JSON types, and with null taken as not given
where the field does not say ``allow_null``: most client libraries send every field they know.
"""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import SkipField, empty
from rest_framework.settings import api_settings

from config.api import reasons, rendering, unsupported
from config.api.exceptions import flatten
from config.api.fields import Wrapping, key_column, value_of
from config.errors import Problems

Positions: TypeAlias = dict[str, list[int]]
"""Of lists in a body, by their path: which of their items are kept, in order."""
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


class Body(dict[str, Any]):
    """The fields of a request's body that are good, by their source, and the `problems` of its others.

    A service that checks fields takes both, adds what it finds, and raises all at once. Of a field that failed it
    knows nothing, as if it had not been given: a check that needs it is left out.
    """

    def __init__(self, values: dict[str, Any]):
        super().__init__(values)
        self.problems = Problems()


class Resource(serializers.Serializer):
    """Base of all resources.

    `Meta.read_only` makes all fields read-only, and `Meta.read_only_fields` those that it names.
    `Meta.in_part` says that a service judges what is good of such an object within a body, also where something
    that it needs has failed.
    """

    if TYPE_CHECKING:
        # Fields of a resource may be called so: the metaclass takes them out of the class. DRF's own attributes of
        # these names have other types in its stubs.
        label: Any
        data: Any
        errors: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unsupported.check_resource(cls)

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = super().get_fields()
        named = {name.rstrip("_"): field for name, field in declared.items()}
        meta = getattr(self, "Meta", None)
        read_only = named if getattr(meta, "read_only", False) else getattr(meta, "read_only_fields", ())
        for name, field in named.items():
            if name in read_only:
                field.read_only, field.required = True, False
            reasons.describe(f"{self.within}{name}", field)
        return named

    @cached_property
    def within(self) -> str:
        """The path of this object in the body, or within the item of a list: ``alerts.``."""
        return _path_of(self)

    @classmethod
    @cache
    def shape(cls) -> rendering.Shape:
        """The compiled form of the resource. Raises `ImproperlyConfigured` unless the resource `is_compiled`."""
        return rendering.compile_shape(cls)

    @classmethod
    @cache
    def is_compiled(cls) -> bool:
        """Whether `data` is what the compiled function returns.

        It is not if the resource, or a field that it shows, overrides a method that DRF's walk over fields calls.
        """
        return not any(rendering.hooks_of(cls))

    @classmethod
    def select(cls, queryset: QuerySet) -> QuerySet:
        """Return the queryset with all that `data` reads of its instances: annotations and related objects.

        ``InstanceResource(InstanceResource.select(rows), many=True).data`` takes a fixed number of queries.
        """
        return rendering.select(cls._with_all_fields(), queryset)

    @classmethod
    @cache
    def _with_all_fields(cls) -> "Resource":
        """A resource with all declared fields, whatever a constructor of an app chooses of them."""
        return type(cls.__name__, (Resource,), dict(cls._declared_fields))()

    @classmethod
    @cache
    def names(cls) -> frozenset[str]:
        """The names of all fields on the wire."""
        return frozenset(cls().fields)

    @classmethod
    @cache
    def paths(cls) -> frozenset[str]:
        """The names of all fields on the wire, those of nested objects with their path (``entity.id``)."""
        return frozenset(_paths(cls()))

    @classmethod
    @cache
    def _validator(cls, partial: bool) -> "Resource":
        # Making a serializer copies all its fields. Validation keeps nothing on it, so one serves all.
        return cls(partial=partial)

    @classmethod
    def validated(cls, data: Any, partial: bool = False) -> dict[str, Any]:
        """The writable fields of a request's body, by their source. Raises with all failing fields at once.

        With `partial`, fields that are not given are left out: how PUT works here. Items of lists are whole.
        """
        return cls._validator(partial).run_validation(data)

    @classmethod
    def read_body(cls, data: Any, partial: bool = False) -> Body:
        """The same, where a service goes on to check the fields that are good: all that fails is named at once."""
        validator = cls._validator(partial)
        try:
            return Body(validator.run_validation(data))
        except ValidationError as error:
            if not isinstance(data, dict):
                raise
            positions: Positions = {}
            body = Body(validator.examine(data, positions)[0])
            for problem in flatten(error.detail):
                body.problems.add(problem["field"], problem["reason"])
            body.problems.positions = positions
            return body

    def to_representation(self, instance: Any) -> Any:
        """Show an instance: by the compiled function where that is the same as DRF's walk over the fields, else by
        the walk. ``serializers.Serializer.to_representation(resource, instance)`` always walks.

        The function writes times as naive datetimes, the walk as texts. Their JSON is the same.
        """
        if isinstance(instance, Mapping):
            # an item of JSON that the database composed is shown as it is
            composed = self._in_a_list() and not self._was_validated()
            return instance if composed else super().to_representation(instance)
        if self._is_outermost() and self.is_compiled():
            return self.shape().of_instance(instance)
        return super().to_representation(instance)

    def get_attribute(self, instance: Any) -> Any:
        """The nested object. Made of columns of the row itself, it is null where its first column is empty."""
        found = super().get_attribute(instance)
        if found is None or not self.allow_null or isinstance(found, Mapping):
            return found
        return None if value_of(found, key_column(self)) in (None, "") else found

    def _is_outermost(self) -> bool:
        above = self.parent
        return above is None or (above.parent is None and isinstance(above, serializers.ListSerializer))

    def _was_validated(self) -> bool:
        return self.root.instance is None and hasattr(self.root, "_validated_data")

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            name = (self.within or _path_of(self.parent)).removesuffix(".") or "body"
            reason = [reasons.not_valid(name)]
            raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: reason} if self.parent is None else reason)
        values, wrong = self.examine(data)
        if wrong:
            raise ValidationError(wrong)
        return values

    def examine(
        self, data: dict[str, Any], positions: Positions | None = None, path: str = ""
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The writable fields of `data` that are good, by their source, and the problems of others, by name.

        Of objects and lists that fail, what is good of them is kept where `positions` is given: it takes the
        positions of the items that are kept of a list, by the list's path, which begins with `path`.
        """
        values: dict[str, Any] = {}
        wrong: dict[str, Any] = {}
        whole = self._in_a_list()
        for field in self._writable_fields:
            name = str(field.field_name)
            if data.get(name) is None and (name not in data or not field.allow_null):
                if field.required and (whole or not self.root.partial):
                    wrong[name] = [field.error_messages["required"]]
                elif not self.root.partial and field.default is not empty:
                    self.set_value(values, field.source_attrs, field.get_default())
                continue
            value = data[name]
            problem = _type_problem(field, f"{self.within}{name}", value)
            if problem:
                if isinstance(problem, dict) and isinstance(field, serializers.ListField):
                    problem = _with_others(field.child, value, problem)
                    self._keep_good(values, field, value, positions, path)
                wrong[name] = problem
                continue
            try:
                valid = field.run_validation(value)
                check = getattr(self, f"validate_{name}", None)
                self.set_value(values, field.source_attrs, check(valid) if check else valid)
            except ValidationError as error:
                wrong[name] = error.detail
                if _is_within(error.detail):
                    self._keep_good(values, field, value, positions, path)
            except SkipField:
                pass
        return values, wrong

    def _keep_good(
        self,
        values: dict[str, Any],
        field: serializers.Field,
        value: Any,
        positions: Positions | None,
        path: str,
    ) -> None:
        """Put into `values` what is good of a field that failed, if anything is."""
        if positions is None:
            return
        good = _good_part(field, value, positions, f"{path}{field.field_name}")
        if good:
            self.set_value(values, field.source_attrs, good)

    def _in_a_list(self) -> bool:
        """Whether this is in an item of a list within the body, which a PUT replaces as a whole: DRF alone asks the
        root if the body is partial, and lets items go without what they need."""
        above = self.parent
        while above is not None and not isinstance(above, serializers.ListSerializer):
            above = above.parent
        return above is not None and above.parent is not None


def _path_of(field: Any) -> str:
    """Return the names of the field and of the objects around it, with a dot after each: ``backups.schedule.``."""
    path = ""
    while field is not None and field.field_name:
        path, field = f"{field.field_name}.{path}", field.parent
    return path


def _with_others(child: serializers.Field, items: list[Any], wrong: dict[int, Any]) -> dict[int, Any]:
    """The problems of a list's items: those `wrong` of the items that have the wrong type, and of the others."""
    found = dict(wrong)
    for index, item in enumerate(items):
        if index not in wrong:
            try:
                child.run_validation(item)
            except ValidationError as error:
                found[index] = error.detail
    return dict(sorted(found.items()))


def _is_within(detail: Any) -> bool:
    """Whether a problem is of something within the value, and not of the value as a whole."""
    return isinstance(detail, dict) or any(isinstance(each, dict | list) for each in detail)


def _good_part(field: serializers.Field, value: Any, positions: Positions, path: str) -> Any:
    """The good part of an object or a list in a body; None where nothing is."""
    if isinstance(value, list):
        return _good_items(field, value, positions, path)
    return _good_object(field, value, positions, path)


def _good_object(field: serializers.Field, value: Any, positions: Positions, path: str) -> dict[str, Any] | None:
    """The good part of an object, unless it lacks something then that it cannot be without."""
    if not isinstance(field, Resource) or not isinstance(value, dict):
        return None
    good, wrong = field.examine(value, positions, f"{path}.")
    if getattr(getattr(field, "Meta", None), "in_part", False):
        return good
    failed = (field.fields[name] for name in wrong if name in field.fields)
    return None if any(each.required and not _has(good, each) for each in failed) else good


def _has(values: dict[str, Any], field: serializers.Field) -> bool:
    """Whether something of a field is among the `values`."""
    found: Any = values
    for name in field.source_attrs:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def _good_items(field: serializers.Field, items: list[Any], positions: Positions, path: str) -> list[Any]:
    """The good items of a list, and the good parts of others; their positions go to `positions`."""
    child = getattr(field, "child", None) or getattr(field, "item", None)
    kept: dict[int, Any] = {}
    for index, item in enumerate(items):
        if child is None or _type_problem(child, "", item):
            continue
        try:
            kept[index] = child.run_validation(item)
        except ValidationError:
            part = _good_object(child, item, positions, f"{path}[{index}]")
            if part:
                kept[index] = part
    positions[path] = list(kept)
    return list(kept.values())


def _paths(resource: serializers.Serializer, prefix: str = "") -> Iterator[str]:
    for name, field in resource.fields.items():
        yield prefix + name
        nested = field.child if isinstance(field, Wrapping) else field
        if isinstance(nested, serializers.Serializer):
            yield from _paths(nested, f"{prefix}{name}.")


def _numbers(field: serializers.Field) -> tuple[int | None, int]:
    """How many items a list for this field has at least, where that is said, and at most."""
    if not hasattr(field, "child"):
        return None, MOST_ITEMS
    return getattr(field, "min_length", None), getattr(field, "max_length", None) or MOST_ITEMS


def _type_problem(field: serializers.Field, name: str, value: Any) -> list | dict | None:
    """The problem with the JSON type of `value`, if any: DRF alone would take 1 for true and 5 for "5"."""
    if value is None:
        return None
    low, most = _numbers(field)
    if isinstance(value, list) and len(value) > most:
        # each of them could have a problem of its own: not looked at
        return [reasons.bounds(name, low, most, " items")]
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        items = ((index, _type_problem(field.child, name, item)) for index, item in enumerate(value))
        return {index: problem for index, problem in items if problem} or None
    for kind, types in JSON_TYPES:
        if isinstance(field, kind):
            fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
            return None if fits else [reasons.not_valid(name)]
    return None
