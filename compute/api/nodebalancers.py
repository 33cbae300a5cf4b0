"""Load balancers, also those that send traffic to an instance."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Expression, F, Func, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, JSONObject, Now, Round
from drf_spectacular.utils import extend_schema_field
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
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
from compute.api.nested import OfInstance
from compute.api.nodebalancer_configs import READ, WRITE, NewNodeBalancerConfig, wish_of
from compute.filters.nodebalancers import NodeBalancerFilterSet
from compute.models import NodeBalancer, NodeBalancerNode, NodeBalancerTransfer
from compute.services.nodebalancers import nodebalancers, stats
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Annotated
from config.api.operations import operation
from config.api.reasons import not_valid
from config.api.serializers import Resource
from config.api.views import ListViewSet, ReadOnlyModelViewSet

LABEL = RegexValidator(r"\A[a-zA-Z0-9\-_]*\Z", not_valid("label", "letters, digits, - and _ only"))
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


class NodeBalancerTransferResource(Resource):
    """MB in this month; null where it is not measured."""

    total = FloatField(
        allow_null=True, help_text="MB in both directions this month; null where it is not measured."
    )
    out = FloatField(allow_null=True, help_text="MB out this month; null where it is not measured.")
    in_ = FloatField(allow_null=True, help_text="MB in this month; null where it is not measured.")

    class Meta:
        read_only = True


class NodeBalancerResource(Resource):
    """A load balancer."""

    id = IntegerField(read_only=True)
    label = CharField(
        min_length=3,
        max_length=32,
        required=False,
        validators=[LABEL],
        help_text="A name for it, unique on the account: letters, digits, `-` and `_`. By default "
        "`balancer` and its id.",
    )
    region = CharField(source="region_id", read_only=True)
    hostname = CharField(read_only=True, help_text="The name that leads to its address.")
    ipv4 = IPAddressField(read_only=True, help_text="Its IPv4 address.")
    ipv6 = IPAddressField(read_only=True, allow_null=True, help_text="Its IPv6 address; null without.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    client_conn_throttle = IntegerField(
        min_value=0, max_value=MOST_CONNECTIONS, required=False,
        help_text="Connections a second that one client may open, 0 to 20; 0, the default, is as many as it likes.",
    )  # fmt: skip
    transfer = Annotated(NodeBalancerTransferResource(), _transfer(), help_text="What went through it this month.")
    tags = ListField(child=CharField(), required=False)


class NewNodeBalancer(Resource):
    """The body of a new load balancer."""

    region = CharField(help_text="The region that it is for.")
    label = CharField(
        min_length=3,
        max_length=32,
        required=False,
        validators=[LABEL],
        help_text="A name for it, unique on the account; by default `balancer` and its id.",
    )
    client_conn_throttle = IntegerField(
        min_value=0,
        max_value=MOST_CONNECTIONS,
        required=False,
        help_text="Connections a second that one client may open, 0 to 20; 0, the default, is as many as it likes.",
    )
    configs = NewNodeBalancerConfig(
        many=True, required=False, help_text="The ports it listens on from the beginning, with their nodes."
    )
    tags = ListField(child=CharField(), required=False)


@extend_schema_field(
    {
        "type": "array",
        "items": {
            "oneOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}],
            "description": "Milliseconds since 1970, and what was measured.",
        },
    }
)
class PointsField(JSONField):
    """A chart. The contract calls its items numbers; what clients of the published service read are pairs of
    them, as in the stats of computes."""


class NodeBalancerTraffic(Resource):
    """Bits a second."""

    in_ = PointsField(help_text="Bits a second from clients.")
    out = PointsField(help_text="Bits a second to clients.")


class NodeBalancerStatsData(Resource):
    """Charts of a load balancer."""

    connections = PointsField(help_text="Connections a second.")
    traffic = NodeBalancerTraffic(help_text="What went through, in bits a second.")


class NodeBalancerStats(Resource):
    """What went through a load balancer in the last 24 hours."""

    title = CharField()
    data = NodeBalancerStatsData(help_text="The charts.")

    class Meta:
        read_only = True


class NodeBalancerViewSet(ReadOnlyModelViewSet[Actor, NodeBalancer]):
    """Load balancers: an address that shares out what comes in among computes of its region."""

    serializer_class = NodeBalancerResource
    filterset_class = NodeBalancerFilterSet
    queryset = NodeBalancer.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_nodebalancers", request=NewNodeBalancer)
    def create(self, request: Request) -> Response:
        """Create a load balancer, also with configs and their nodes.

        It takes traffic within seconds.
        """
        given = self.body()
        configs = tuple(map(wish_of, given.pop("configs", ())))
        made = nodebalancers.create(self.actor, NodeBalancerSpec(**given, configs=configs), given.problems)
        return self.retrieve(request, id=made.pk)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, id: int) -> Response:
        """Change label, throttle or tags.

        What is not named stays.
        """
        balancer, given = self.get_object(), self.body(partial=True)
        tags = given.pop("tags", None)
        nodebalancers.update(self.actor, balancer, given, tags, given.problems)
        return self.retrieve(request, id=id)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a load balancer with its configs and nodes, and give its address back.

        Cannot be undone.
        """
        nodebalancers.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["get"])
    @operation(READ, READ_ONLY, response=NodeBalancerStats, throttle_scope="stats", refusals=(400,))
    def stats(self, request: Request, id: int) -> Response:
        """What went through in the last 24 hours, in averages of five minutes.

        Before there are samples the answer is a 400.
        """
        return Response(stats.of_last_day(self.get_object()))


class InstanceNodeBalancerViewSet(OfInstance, ListViewSet[Actor, NodeBalancer]):
    """The load balancers with a node on an instance, of those that the caller may see."""

    serializer_class = NodeBalancerResource
    filterset_class = NodeBalancerFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[NodeBalancer]:
        nodes = NodeBalancerNode.objects.filter(instance__in=self.get_parent_queryset().values("pk"))
        return NodeBalancer.objects.visible_to(self.viewer).filter(pk__in=nodes.values("config__nodebalancer"))
