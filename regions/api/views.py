"""The region catalogue."""

from config.api.access import ANYONE, PUBLIC
from config.api.views import QUARTER_HOUR, ResourceViewSet
from regions.api.resources import RegionResource
from regions.models import Region


class RegionViewSet(ResourceViewSet):
    """Regions: where services are offered."""

    resource = RegionResource
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor, path):
        return Region.objects.all()
