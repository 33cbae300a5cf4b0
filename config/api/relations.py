"""The ORM paths that the fields of a resource name, looked up on a model."""

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import JSONField, Model, QuerySet
from django.db.models.constants import LOOKUP_SEP


def check_column(queryset: QuerySet, path: str, owner: str) -> None:
    """Raise `ImproperlyConfigured` unless `path` is a column of the queryset with one value for each row.

    `owner` is the field of a resource that names the path.
    """
    model, names = queryset.model, path.split(LOOKUP_SEP)
    if path in queryset.query.annotations or names[0] in queryset.query.annotations:
        return
    for position, name in enumerate(names):
        found = _field(model, name)
        where = f"{owner}: `{name}` of {model.__name__}"
        if found is None:
            raise ImproperlyConfigured(
                f"{where} is no column; write `Computed` with the columns that it needs, or `Annotated`."
            )
        if found.one_to_many or found.many_to_many:
            raise ImproperlyConfigured(f"{where} has many rows; write `Annotated` with an ArraySubquery.")
        if not found.is_relation or name != found.name:
            if names[position + 1 :] and not isinstance(found, JSONField):
                raise ImproperlyConfigured(f"{where} is a column, and `{path}` is none; write `Annotated`.")
            return
        model = found.related_model
    raise ImproperlyConfigured(f"{where} is a relation; name its column in `source`, as in `{name}_id`.")


def relation_of(model: type[Model], path: str) -> str | None:
    """Return the relation that a path goes through, for `select_related`: ``type`` of ``type__disk``, or None."""
    related = []
    for name in path.split(LOOKUP_SEP)[:-1]:
        found = _field(model, name)
        if found is None or not found.is_relation or name != found.name:
            break
        related.append(name)
        model = found.related_model
    return LOOKUP_SEP.join(related) or None


def _field(model: type[Model], name: str):  # type: ignore[no-untyped-def] # fields and relations have no common type
    """Return the field or the relation of a model by its name or by its column's name."""
    if name == "pk":
        return model._meta.pk
    try:
        return model._meta.get_field(name)
    except FieldDoesNotExist:
        return next((each for each in model._meta.concrete_fields if each.attname == name), None)
