"""Load balancers, as an instance lists those that send traffic to it."""

from rest_framework.serializers import CharField, DateTimeField, FloatField, IntegerField, IPAddressField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.models import NodeBalancer, NodeBalancerNode
from config.api.access import READ_ONLY
from config.api.fields import Constant
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

UNMEASURED = {"total": None, "out": None, "in": None}
MOST_CONNECTIONS = 20


class BalancerTransfer(Resource):
    """MB in this month; null where it is not measured."""

    total = FloatField(allow_null=True)
    out = FloatField(allow_null=True)
    in_ = FloatField(allow_null=True)

    class Meta:
        read_only = True


class NodeBalancerResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=3, max_length=32)
    region = CharField(source="region_id", read_only=True)
    hostname = CharField(read_only=True)
    ipv4 = IPAddressField(read_only=True)
    ipv6 = IPAddressField(read_only=True, allow_null=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    client_conn_throttle = IntegerField(min_value=0, max_value=MOST_CONNECTIONS)
    transfer = Constant(BalancerTransfer(), UNMEASURED)
    tags = ListField(child=CharField())

    class Meta:
        filterable = ("label", "region", "ipv4", "tags")


class InstanceNodeBalancerViewSet(ResourceViewSet[Actor, NodeBalancer]):
    """The load balancers with a node on an instance, of those that the caller may see."""

    resource = NodeBalancerResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor, path):
        nodes = NodeBalancerNode.objects.filter(instance__in=its_instance(actor, path).values("pk"))
        return NodeBalancer.objects.visible_to(actor).filter(pk__in=nodes.values("nodebalancer"))
