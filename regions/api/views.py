"""The region catalogue."""

from django.db.models import QuerySet

from config.api.access import ANYONE, PUBLIC
from config.api.views import QUARTER_HOUR, ReadOnlyModelViewSet
from regions.filters import RegionFilterSet
from regions.models import Region
from regions.serializers import RegionResource


class RegionViewSet(ReadOnlyModelViewSet):
    """Regions: where services are offered."""

    serializer_class = RegionResource
    filterset_class = RegionFilterSet
    lookup_value_converter = "slug_id"
    required_scopes = PUBLIC
    required_grant = ANYONE
    ordering = ("position", "id")
    cache_control = QUARTER_HOUR

    def get_queryset(self) -> QuerySet[Region]:
        return Region.objects.all()
