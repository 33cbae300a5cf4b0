"""The fields that lists can be ordered by: each plain field of the serializer, and those that filters accept."""

from functools import cache

from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from rest_framework import serializers

from config.api import fields
from config.filters import FilterSet

SEVERAL = (serializers.ListField, serializers.DictField, serializers.JSONField, serializers.BaseSerializer)
"""Fields that hold more than one value and so have no order."""


@cache
def orders_of(
    serializer_class: type[serializers.Serializer], filterset_class: type[FilterSet] | None
) -> dict[str, str | None]:
    """Map the names of the fields that a list can be ordered by to their ORM paths.

    A plain field has one value that the database knows. Lists and objects are not plain. A value that Python
    computes is plain only if the field has an `ordered_by`. A constant has no path, because it does not change the
    order.
    """
    declared = serializer_class().fields.items()
    plain = {str(name): _path(name, child) for name, child in declared if _is_plain(child)}
    filters = filterset_class.base_filters if filterset_class else {}
    return {**plain, **{name: each.field_name for name, each in filters.items()}}


def check_unordered(view: type, queryset: QuerySet) -> None:
    """Raise `ImproperlyConfigured` if the rows of a list have an order of their own. The list would not keep it."""
    if queryset.query.order_by:
        raise ImproperlyConfigured(
            f"{view.__name__}: `order_by` of the queryset has no effect; name the columns in `ordering`."
        )


def _is_plain(child: serializers.Field) -> bool:
    if child.write_only or isinstance(child, fields.Absent):
        return False
    if isinstance(child, fields.Computed):
        return child.ordered_by is not None
    return not isinstance(child.child if isinstance(child, fields.Wrapping) else child, SEVERAL)


def _path(name: str, child: serializers.Field) -> str | None:
    if isinstance(child, fields.Constant):
        return None
    if isinstance(child, fields.Computed):
        return child.ordered_by
    return f"api_{name}" if isinstance(child, fields.Annotated) else fields.column_of(child)
