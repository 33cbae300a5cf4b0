"""Volumes."""

from compute.models import Volume
from config.filters import ArrayFilter, CharFilter, FilterSet, NumberFilter


class VolumeFilterSet(FilterSet):
    """Filters of volumes of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    region = CharFilter("region_id")
    tags = ArrayFilter()

    class Meta:
        model = Volume
