"""Filters of instances."""

from collections.abc import Iterable

from django.db.models import QuerySet

from compute.models import Instance
from config import word
from config.filters import (
    ArrayFilter,
    CharFilter,
    ChoiceFilter,
    ElementFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
    PlatformFilter,
    StatusFilter,
)


class InstanceFilterSet(FilterSet):
    """Filters of instances of an account."""

    id = NumberFilter()
    label = CharFilter()
    group = CharFilter()
    region = CharFilter("region_id")
    image = PlatformFilter("image_id")
    ipv4 = ArrayFilter()
    tags = ArrayFilter()

    class Meta:
        model = Instance


class TypeFilter(ChoiceFilter):
    """The type of an instance, whose label is a name of the platform (`config.word`)."""

    def choices(self, rows: QuerySet) -> Iterable[tuple[str, str]]:
        return [(pk, word.on_wire(label)) for pk, label in super().choices(rows)]


class InstanceListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form. Names are those of the API's fields."""

    label = PartFilter(label="Label")
    status = StatusFilter(label="Status")
    region = ChoiceFilter("region_id", label="Region")
    type = TypeFilter("type_id", label="Type", words="type__label")
    image = ChoiceFilter("image_id", label="Image", words="image__label")
    tags = ElementFilter(label="Tag")

    class Meta:
        model = Instance
