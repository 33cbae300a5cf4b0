"""Filters of volumes."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet

from compute.models import Volume
from config.filters import (
    ArrayFilter,
    CharFilter,
    ChoiceFilter,
    ElementFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
    StatusFilter,
)

ATTACHED = (("yes", "attached"), ("no", "not attached"))


class VolumeFilterSet(FilterSet):
    """Filters of volumes of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    region = CharFilter("region_id")
    tags = ArrayFilter()

    class Meta:
        model = Volume


class AttachedFilter(ChoiceFilter):
    """Whether the volume is attached to an instance."""

    def choices(self, rows: QuerySet) -> Iterable[tuple[str, str]]:
        return ATTACHED

    def is_value(self, value: Any) -> Q:
        """Return the condition for a value of `ATTACHED`. Another one matches no row."""
        return Q(**{f"{self.field_name}__isnull": value == "no"}) if value in dict(ATTACHED) else Q(pk__in=())


class VolumeListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form."""

    label = PartFilter(label="Label")
    status = StatusFilter(label="Status")
    region = ChoiceFilter("region_id", label="Region")
    attached = AttachedFilter("instance", label="Attached")
    tags = ElementFilter(label="Tag")

    class Meta:
        model = Volume
