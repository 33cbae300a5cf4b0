"""The VLANs of an account."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import QuerySet

from accounts.actors import Actor
from compute.filters.networking.vlans import VLANFilterSet
from compute.models import VLAN
from compute.models.networking.vlans import naming_before
from compute.serializers.networking.vlans import VLANResource
from config.api.access import READ_ONLY
from config.api.views import ListViewSet


class VLANViewSet(ListViewSet[Actor, VLAN]):
    """The VLANs that configuration profiles name, with the instances of these profiles.

    Restricted users see only the instances that they have grants on, and the VLANs of these instances.
    """

    serializer_class = VLANResource
    filterset_class = VLANFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[VLAN]:
        ids = naming_before(self.viewer).order_by("instance").values("instance").distinct()
        return VLAN.objects.visible_to(self.viewer).annotate(on_it=ArraySubquery(ids))
