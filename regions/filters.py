"""The filters of the list of regions."""

from config.filters import ArrayFilter, CharFilter, FilterSet
from regions.models import Region


class RegionFilterSet(FilterSet):
    """Regions."""

    id = CharFilter()
    country = CharFilter()
    capabilities = ArrayFilter()
    status = CharFilter()

    class Meta:
        model = Region
