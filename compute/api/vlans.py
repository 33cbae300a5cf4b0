"""The VLANs of an account."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, QuerySet
from rest_framework.serializers import CharField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.models import VLAN, Instance
from compute.services.vlans import naming
from config.api.access import READ_ONLY
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class VLANResource(Resource):
    label = CharField(read_only=True)
    region = CharField(source="region_id", read_only=True)
    computes = ListField(child=IntegerField(), source="on_it", read_only=True)
    created = DateTimeField(read_only=True)

    class Meta:
        filterable = ("label", "region")


class VLANViewSet(ResourceViewSet[Actor, VLAN]):
    """The VLANs that configuration profiles name, with the instances they are profiles of.

    Restricted users see those of the instances they have grants on, and these instances only.
    """

    resource = VLANResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}

    @staticmethod
    def objects(actor, path) -> QuerySet[VLAN]:
        naming_it = naming().filter(instance__region=OuterRef("region"))
        if actor.restricted:
            naming_it = naming_it.filter(instance__in=Instance.objects.visible_to(actor).values("pk"))
        ids = naming_it.order_by("instance").values("instance").distinct()
        rows = VLAN.objects.filter(Exists(naming_it), account=actor.account_id)
        return rows.annotate(on_it=ArraySubquery(ids))
