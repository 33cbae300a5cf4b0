"""`FilterSet`: the filters of one list."""

from typing import ClassVar

import django_filters
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Field
from django.db.models.constants import LOOKUP_SEP

from config import word
from config.filters.filters import Filter

NOT_CALLED = frozenset({"filter_queryset", "qs", "form", "get_form_class"})
"""The methods of a filter set that only a page would call."""


class FilterSet(django_filters.FilterSet):
    """Base of all filter sets. The API compiles `base_filters` to `Q`. A page shows an instance's `form` and `qs`.

    ::

        class VolumeFilterSet(FilterSet):
            id = NumberFilter()
            region = CharFilter("region_id")

            class Meta:
                model = Volume

    Each filter is declared. ``entity__id`` has the name ``entity.id`` in JSON, and ``class_`` the name ``class``.
    Give `field_name` to filters with such names. In JSON, a name has the word of the installation (`config.word`).

    Raises `ImproperlyConfigured` for an argument of django-filter that the API would ignore, so that a page and the
    API find the same rows.
    """

    base_filters: ClassVar[dict[str, Filter]]

    @classmethod
    def get_filters(cls) -> dict[str, Filter]:
        """Return the declared filters, by their names in JSON."""
        if cls._meta.fields is not None or cls._meta.exclude is not None:
            raise ImproperlyConfigured(f"{cls.__name__}: declare each filter in place of `Meta.fields`.")
        for name in NOT_CALLED & vars(cls).keys():
            raise ImproperlyConfigured(
                f"{cls.__name__}: the API does not call `{name}`; write a subclass of a filter."
            )
        found: dict[str, Filter] = {}
        for attribute, each in cls.declared_filters.items():
            where, (*within, last) = f"{cls.__name__}.{attribute}", attribute.split(LOOKUP_SEP)
            _check(where, each)
            if within and last in Field.get_class_lookups():
                raise ImproperlyConfigured(
                    f"{where}: a name has no lookup; X-Filter has operators for each filter."
                )
            each.name = word.on_wire(attribute.rstrip("_").replace("__", "."))
            found[each.name] = each
        return found


def _check(where: str, declared: django_filters.Filter) -> None:
    if not isinstance(declared, Filter):
        raise ImproperlyConfigured(f"{where}: take a filter of config.filters.")
    if declared.method or declared.exclude or declared.distinct or declared.lookup_expr != "exact":
        raise ImproperlyConfigured(
            f"{where}: `method`, `exclude`, `distinct` and `lookup_expr` are not supported; "
            "write a subclass of the filter with `is_value`, `contains` or `compares`."
        )
