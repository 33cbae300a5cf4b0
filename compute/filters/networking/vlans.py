"""VLANs."""

from compute.models import VLAN
from config.filters import CharFilter, DateTimeFilter, FilterSet


class VLANFilterSet(FilterSet):
    """VLANs of an account."""

    label = CharFilter()
    region = CharFilter("region_id")
    created = DateTimeFilter()

    class Meta:
        model = VLAN
