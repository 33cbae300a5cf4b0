"""Filters of VLANs."""

from compute.models import VLAN
from config.filters import CharFilter, DateTimeFilter, FilterSet


class VLANFilterSet(FilterSet):
    """Filters of VLANs of an account."""

    label = CharFilter()
    region = CharFilter("region_id")
    created = DateTimeFilter()

    class Meta:
        model = VLAN
