"""Filters of VLANs."""

from compute.models import VLAN
from config.filters import CharFilter, ChoiceFilter, DateTimeFilter, FilterSet, PartFilter


class VLANFilterSet(FilterSet):
    """Filters of VLANs of an account."""

    label = CharFilter()
    region = CharFilter("region_id")
    created = DateTimeFilter()

    class Meta:
        model = VLAN


class VLANListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form."""

    label = PartFilter(label="Label")
    region = ChoiceFilter("region_id", label="Region")

    class Meta:
        model = VLAN
