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
work as in DRF. Output is fast: it does not walk these fields for each object, but calls one function that is
compiled from them (see `config.api.rendering`). If a resource or one of its fields overrides a method of DRF's
walk, such as `to_representation`, then `data` is the result of that walk.

DRF validates input, with the contract's reasons and strict JSON types. Null counts as not given, unless the field
has ``allow_null``: most client libraries send every field they know.
"""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import SkipField, empty
from rest_framework.settings import api_settings

from config import word
from config.api import reasons, rendering, unsupported
from config.api.exceptions import flatten
from config.api.fields import PlatformChoiceField, PlatformTextField, Wrapping, key_column, value_of
from config.errors import Problems

Positions: TypeAlias = dict[str, list[int]]
"""For each list in a body, by its path: the positions of the items that are kept, in order."""
MAX_ITEMS = 10_000
"""The maximum number of items of a list in a body, unless the list has a `max_length`.

An answer about a million invalid items takes a minute and 100 MB.
"""
JSON_TYPES: tuple[tuple[type[serializers.Field], tuple[type, ...]], ...] = (
    (serializers.IntegerField, (int,)),
    (serializers.FloatField, (int, float)),
    (serializers.DecimalField, (int, float, str)),
    (serializers.BooleanField, (bool,)),
    (serializers.CharField, (str,)),
    (serializers.DateTimeField, (str,)),
)


class Body(dict[str, Any]):
    """The valid fields of a request's body, by their source, and the `problems` of the other fields.

    A service that checks fields takes both, adds the problems that it finds, and raises all at once. A failed field
    looks as if it had not been given, so checks that need it are omitted.
    """

    def __init__(self, values: dict[str, Any]):
        super().__init__(values)
        self.problems = Problems()


class Resource(serializers.Serializer):
    """Base of all resources.

    `Meta.read_only` makes all fields read-only, and `Meta.read_only_fields` the fields that it names. With
    `Meta.in_part`, a service judges the valid part of such an object within a body, even if a required field
    failed.
    """

    if TYPE_CHECKING:
        # Fields of a resource may have these names: the metaclass removes them from the class. DRF's own attributes
        # of these names have other types in its stubs.
        label: Any
        data: Any
        errors: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unsupported.check_resource(cls)

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = super().get_fields()
        named = {name.rstrip("_"): field for name, field in declared.items()}
        if word.IS_SET:
            named = {name: PlatformChoiceField.instead_of(field) for name, field in named.items()}
        meta = getattr(self, "Meta", None)
        read_only = named if getattr(meta, "read_only", False) else getattr(meta, "read_only_fields", ())
        for name, field in named.items():
            if name in read_only:
                field.read_only, field.required = True, False
        if word.IS_SET:
            named = _on_wire(named)
        for name, field in named.items():
            reasons.describe(f"{self.within}{name}", field)
        return named

    @cached_property
    def within(self) -> str:
        """The path of this object in the body, or within the item of a list: ``alerts.``."""
        return _path_of(self)

    @classmethod
    @cache
    def shape(cls) -> rendering.Shape:
        """Return the compiled form of the resource.

        Raises `ImproperlyConfigured` unless the resource `is_compiled`.
        """
        return rendering.compile_shape(cls)

    @classmethod
    @cache
    def is_compiled(cls) -> bool:
        """Tell whether `data` comes from the compiled function.

        It does not if the resource, or a field that it shows, overrides a method that DRF's walk over fields calls.
        """
        return not any(rendering.hooks_of(cls))

    @classmethod
    def select(cls, queryset: QuerySet) -> QuerySet:
        """Return the queryset with everything that `data` reads of its instances: annotations and related objects.

        ``InstanceResource(InstanceResource.select(rows), many=True).data`` takes a fixed number of queries.
        """
        return rendering.select(cls._with_all_fields(), queryset)

    @classmethod
    @cache
    def _with_all_fields(cls) -> "Resource":
        """Return a resource with all declared fields, even if a constructor of an app selects some of them."""
        return type(cls.__name__, (Resource,), dict(cls._declared_fields))()

    @classmethod
    @cache
    def names(cls) -> frozenset[str]:
        """Return the names of all fields in JSON."""
        return frozenset(cls().fields)

    @classmethod
    @cache
    def paths(cls) -> frozenset[str]:
        """Return the names of all fields in JSON. Fields of nested objects have a path (``entity.id``)."""
        return frozenset(_paths(cls()))

    @classmethod
    @cache
    def _validator(cls, partial: bool) -> "Resource":
        # Creating a serializer copies all its fields. Validation stores nothing on it, so one instance is enough.
        return cls(partial=partial)

    @classmethod
    def validated(cls, data: Any, partial: bool = False) -> dict[str, Any]:
        """Return the writable fields of a request's body, by their source.

        Raises an error that names all failing fields. With `partial`, fields that are not given are omitted, as PUT
        requires. Items of lists are always whole.
        """
        return cls._validator(partial).run_validation(data)

    @classmethod
    def read_body(cls, data: Any, partial: bool = False) -> Body:
        """Return the valid fields and the problems of the others.

        It is for a service that goes on to check the valid fields. One answer then names all problems.
        """
        validator = cls._validator(partial)
        try:
            return Body(validator.run_validation(data))
        except ValidationError as error:
            if not isinstance(data, dict):
                raise
            positions: Positions = {}
            body = Body(validator.examine(data, positions)[0])
            for problem in flatten(error.detail):
                # reasons of fields have their names on the wire, and may have a text of the body
                field = problem["field"] and word.to_neutral(problem["field"])
                body.problems.add(field, word.Spoken(problem["reason"]))
            body.problems.positions = {word.to_neutral(path): kept for path, kept in positions.items()}
            return body

    @classmethod
    def with_word(cls, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body in the neutral form, such as a page's, as a client sends it (`config.word`)."""
        return _as_sent(cls._validator(False), body) if word.IS_SET else body

    def to_representation(self, instance: Any) -> Any:
        """Return an instance's fields as a dictionary.

        The compiled function does it if the result is the same as DRF's walk over the fields, or else the walk. The
        function returns times as naive datetimes, the walk as texts. Their JSON is the same.
        ``serializers.Serializer.to_representation(resource, instance)`` always walks.
        """
        if isinstance(instance, Mapping):
            # An item of JSON from the database is shown unchanged.
            composed = self._in_a_list() and not self._was_validated()
            return instance if composed else super().to_representation(instance)
        if self._is_outermost() and self.is_compiled():
            return self.shape().of_instance(instance)
        return super().to_representation(instance)

    def get_attribute(self, instance: Any) -> Any:
        """Return the nested object.

        If it consists of columns of the row itself, it is null when its first column is empty.
        """
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
        """Return the valid writable fields of `data`, by their source, and the problems of the others, by name.

        If `positions` is given, the valid parts of failed objects and lists are kept. `positions` then receives the
        positions of a list's kept items, by the list's path, which begins with `path`.
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
                neutral = word.to_neutral(name) if word.IS_SET else name
                check = getattr(self, f"validate_{neutral}", None)
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
        """Put the valid part of a failed field into `values`, if there is one."""
        if positions is None:
            return
        good = _good_part(field, value, positions, f"{path}{field.field_name}")
        if good:
            self.set_value(values, field.source_attrs, good)

    def _in_a_list(self) -> bool:
        """Tell whether this is in an item of a list within the body. A PUT replaces such an item as a whole.

        DRF itself only asks the root whether the body is partial, and accepts items without their required fields.
        """
        above = self.parent
        while above is not None and not isinstance(above, serializers.ListSerializer):
            above = above.parent
        return above is not None and above.parent is not None


def _on_wire(named: dict[str, serializers.Field]) -> dict[str, serializers.Field]:
    """Return fields by their names on the wire. Their sources keep the neutral names."""
    found = {}
    for name, field in named.items():
        shown = word.on_wire(name)
        if shown != name and field.source is None:
            field.source = name
        found[shown] = field
    return found


def _as_sent(field: Any, value: Any) -> Any:
    """Return a neutral value of a body with the word. Names and texts that a customer chose stay."""
    if isinstance(field, Resource) and isinstance(value, dict):
        return {word.on_wire(name): _as_sent(field.fields.get(word.on_wire(name)), value[name]) for name in value}
    if isinstance(value, list) and hasattr(field, "child"):
        return [_as_sent(field.child, item) for item in value]
    if isinstance(field, PlatformTextField | PlatformChoiceField) and isinstance(value, str):
        return word.on_wire(value)
    return value


def _path_of(field: Any) -> str:
    """Return the names of the field and of the objects around it, with a dot after each: ``backups.schedule.``."""
    path = ""
    while field is not None and field.field_name:
        path, field = f"{field.field_name}.{path}", field.parent
    return path


def _with_others(child: serializers.Field, items: list[Any], wrong: dict[int, Any]) -> dict[int, Any]:
    """Return the problems of a list's items: those in `wrong`, for items of the wrong type, and those of the other
    items.
    """
    found = dict(wrong)
    for index, item in enumerate(items):
        if index not in wrong:
            try:
                child.run_validation(item)
            except ValidationError as error:
                found[index] = error.detail
    return dict(sorted(found.items()))


def _is_within(detail: Any) -> bool:
    """Tell whether a problem concerns a part of the value, and not the value as a whole."""
    return isinstance(detail, dict) or any(isinstance(each, dict | list) for each in detail)


def _good_part(field: serializers.Field, value: Any, positions: Positions, path: str) -> Any:
    """Return the valid part of an object or a list in a body, or None."""
    if isinstance(value, list):
        return _good_items(field, value, positions, path)
    return _good_object(field, value, positions, path)


def _good_object(field: serializers.Field, value: Any, positions: Positions, path: str) -> dict[str, Any] | None:
    """Return the valid part of an object. None if a required field is missing from it."""
    if not isinstance(field, Resource) or not isinstance(value, dict):
        return None
    good, wrong = field.examine(value, positions, f"{path}.")
    if getattr(getattr(field, "Meta", None), "in_part", False):
        return good
    failed = (field.fields[name] for name in wrong if name in field.fields)
    return None if any(each.required and not _has(good, each) for each in failed) else good


def _has(values: dict[str, Any], field: serializers.Field) -> bool:
    """Tell whether a part of a field is among the `values`."""
    found: Any = values
    for name in field.source_attrs:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def _good_items(field: serializers.Field, items: list[Any], positions: Positions, path: str) -> list[Any]:
    """Return the valid items of a list, and the valid parts of others. Their positions are added to `positions`."""
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
    """Return the minimum number of items of a list for this field, if it has one, and the maximum."""
    if not hasattr(field, "child"):
        return None, MAX_ITEMS
    return getattr(field, "min_length", None), getattr(field, "max_length", None) or MAX_ITEMS


def _type_problem(field: serializers.Field, name: str, value: Any) -> list | dict | None:
    """Return the problem with the JSON type of `value`, if any: DRF alone would accept 1 for true and 5 for "5"."""
    if value is None:
        return None
    low, most = _numbers(field)
    if isinstance(value, list) and len(value) > most:
        # Each item could have a problem of its own: they are not checked.
        return [reasons.bounds(name, low, most, " items")]
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        items = ((index, _type_problem(field.child, name, item)) for index, item in enumerate(value))
        return {index: problem for index, problem in items if problem} or None
    for kind, types in JSON_TYPES:
        if isinstance(field, kind):
            fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
            return None if fits else [reasons.not_valid(name)]
    return None
