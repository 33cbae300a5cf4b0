"""The VLANs of an account."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import QuerySet
from rest_framework.serializers import CharField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.filters.vlans import VLANFilterSet
from compute.models import VLAN
from compute.models.networks import naming_before
from config.api.access import READ_ONLY
from config.api.serializers import Resource
from config.api.views import ListViewSet


class VLANResource(Resource):
    """A private network between instances of a region."""

    label = CharField(read_only=True, help_text="Its name, which profiles give it.")
    region = CharField(source="region_id", read_only=True)
    computes = ListField(
        child=IntegerField(),
        source="on_it",
        read_only=True,
        help_text="The instances on it, of those that the caller may see.",
    )
    created = DateTimeField(read_only=True, help_text="When a profile first named it, in UTC.")


class VLANViewSet(ListViewSet[Actor, VLAN]):
    """The VLANs that configuration profiles name, with the instances they are profiles of.

    Restricted users see those of the instances they have grants on, and these instances only.
    """

    serializer_class = VLANResource
    filterset_class = VLANFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[VLAN]:
        ids = naming_before(self.viewer).order_by("instance").values("instance").distinct()
        return VLAN.objects.visible_to(self.viewer).annotate(on_it=ArraySubquery(ids))
