"""Load balancers, also those that send traffic to an instance."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Expression, F, Func, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, JSONObject, Now, Round
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request
from rest_framework.serializers import (
    CharField,
    DateTimeField,
    FloatField,
    IntegerField,
    IPAddressField,
    JSONField,
    ListField,
)

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.api.nodebalancer_configs import READ, WRITE, NewBalancerConfig, wish_of
from compute.models import NodeBalancer, NodeBalancerNode, NodeBalancerTransfer
from compute.services.nodebalancers import nodebalancers, stats
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Annotated
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

LABEL = RegexValidator(r"\A[a-zA-Z0-9\-_]*\Z", "label is not valid")
MOST_CONNECTIONS = 20
MB = 10**6


class _Month(Func):
    """The first day of the month (UTC) of a time."""

    template = "(date_trunc('month', %(expressions)s AT TIME ZONE 'UTC'))::date"
    output_field = models.DateField()


def _megabytes(number: Any) -> Expression:
    return Round(Cast(number, models.FloatField()) / MB * 100) / 100.0


def _transfer() -> Coalesce:
    """What went through in this month, null where nobody has measured."""
    counted = NodeBalancerTransfer.objects.filter(nodebalancer=OuterRef("pk"), month=_Month(Now()))
    total = _megabytes(F("received") + F("sent"))
    sums = JSONObject(total=total, out=_megabytes(F("sent")), **{"in": _megabytes(F("received"))})
    unmeasured = {"total": None, "out": None, "in": None}
    return Coalesce(Subquery(counted.values(sums=sums)), Value(unmeasured, models.JSONField()))


class BalancerTransferResource(Resource):
    """MB in this month; null where it is not measured."""

    total = FloatField(allow_null=True)
    out = FloatField(allow_null=True)
    in_ = FloatField(allow_null=True)

    class Meta:
        read_only = True


class NodeBalancerResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=3, max_length=32, required=False, validators=[LABEL])
    region = CharField(source="region_id", read_only=True)
    hostname = CharField(read_only=True)
    ipv4 = IPAddressField(read_only=True)
    ipv6 = IPAddressField(read_only=True, allow_null=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    client_conn_throttle = IntegerField(
        min_value=0, max_value=MOST_CONNECTIONS, required=False,
        help_text="Connections a second that one client may open; 0 is as many as it likes.",
    )  # fmt: skip
    transfer = Annotated(BalancerTransferResource(), _transfer())
    tags = ListField(child=CharField(), required=False)

    class Meta:
        filterable = ("label", "region", "ipv4", "tags")


class NewNodeBalancer(Resource):
    region = CharField()
    label = CharField(
        min_length=3, max_length=32, required=False, validators=[LABEL], help_text="By default balancer and its id."
    )
    client_conn_throttle = IntegerField(min_value=0, max_value=MOST_CONNECTIONS, required=False)
    configs = NewBalancerConfig(many=True, required=False)
    tags = ListField(child=CharField(), required=False)


@extend_schema_field(
    {
        "type": "array",
        "items": {"oneOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]},
        "description": "Pairs of a time, in milliseconds since 1970, and what was measured.",
    }
)
class PointsField(JSONField):
    """A chart. The contract calls its items numbers; what clients of the published service read are pairs of
    them, as in the stats of computes."""


class BalancerTraffic(Resource):
    """Bits a second."""

    in_ = PointsField()
    out = PointsField()


class BalancerStatsData(Resource):
    connections = PointsField(help_text="A second.")
    traffic = BalancerTraffic()


class NodeBalancerStats(Resource):
    title = CharField()
    data = BalancerStatsData()

    class Meta:
        read_only = True


class NodeBalancerViewSet(ResourceViewSet[Actor, NodeBalancer]):
    """Load balancers: an address that shares out what comes in among computes of its region."""

    resource = NodeBalancerResource
    requests = {"create": NewNodeBalancer}
    responses = {"stats": NodeBalancerStats}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE, "stats": READ}
    grants = {
        "list": READ_ONLY, "retrieve": READ_ONLY, "create": "add_nodebalancers", "update": READ_WRITE,
        "destroy": READ_WRITE, "stats": READ_ONLY,
    }  # fmt: skip
    throttle = {"stats": "stats"}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancer]:
        return NodeBalancer.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Create a load balancer, also with configs and their nodes."""
        given: dict[str, Any] = self.validated()
        configs = tuple(map(wish_of, given.pop("configs", ())))
        return self.retrieve(
            request, id=nodebalancers.create(self.actor, NodeBalancerSpec(**given, configs=configs)).pk
        )

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change label, throttle or tags."""
        balancer = self.get_entity()
        given = self.validated(partial=True)
        tags = given.pop("tags", None)
        nodebalancers.update(self.actor, balancer, given, tags)
        return self.retrieve(request, id=id)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a load balancer with its configs and nodes, and give its address back."""
        nodebalancers.delete(self.actor, self.get_entity())
        return JSONResponse()

    def stats(self, request: Request, id: int) -> JSONResponse:
        """What went through in the last 24 hours, in averages of five minutes."""
        return JSONResponse(stats.of_last_day(self.get_entity()))


class InstanceNodeBalancerViewSet(ResourceViewSet[Actor, NodeBalancer]):
    """The load balancers with a node on an instance, of those that the caller may see."""

    resource = NodeBalancerResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancer]:
        nodes = NodeBalancerNode.objects.filter(instance__in=its_instance(actor, path).values("pk"))
        return NodeBalancer.objects.visible_to(actor).filter(pk__in=nodes.values("config__nodebalancer"))
