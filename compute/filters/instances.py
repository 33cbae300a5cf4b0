"""Instances."""

from compute.models import Instance
from config.filters import ArrayFilter, CharFilter, FilterSet, NumberFilter


class InstanceFilterSet(FilterSet):
    """Instances of an account."""

    id = NumberFilter()
    label = CharFilter()
    group = CharFilter()
    region = CharFilter("region_id")
    image = CharFilter("image_id")
    ipv4 = ArrayFilter()
    tags = ArrayFilter()

    class Meta:
        model = Instance
