"""The filters of the list of regions."""

from config.filters import CharFilter, FilterSet, PlatformArrayFilter
from regions.models import Region


class RegionFilterSet(FilterSet):
    """Filters of regions."""

    id = CharFilter()
    country = CharFilter()
    capabilities = PlatformArrayFilter()
    status = CharFilter()

    class Meta:
        model = Region
