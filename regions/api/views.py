"""The region catalogue."""

from django.db.models import QuerySet

from accounts.actors import Actor
from config.api.access import ANYONE, PUBLIC
from config.api.paths import PathParameters
from config.api.views import QUARTER_HOUR, ResourceViewSet
from regions.api.resources import RegionResource
from regions.filters import RegionFilterSet
from regions.models import Region


class RegionViewSet(ResourceViewSet):
    """Regions: where services are offered."""

    resource = RegionResource
    filterset_class = RegionFilterSet
    ordering = ("position", "id")
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor: Actor | None, path: PathParameters) -> QuerySet[Region]:
        return Region.objects.all()
