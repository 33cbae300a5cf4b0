"""The nodes of a load balancer's config."""

from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, IntegerField

from accounts.actors import Actor
from compute.filters.nodebalancer_nodes import NodeBalancerNodeFilterSet
from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.services.nodebalancers import nodes
from compute.services.nodebalancers.nodes import NodeWish
from config.api.access import READ_ONLY, READ_WRITE
from config.api.common_fields import IdField
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.paths import PathParameters
from config.api.reasons import not_valid
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet

READ = "nodebalancers:read_only"
WRITE = "nodebalancers:read_write"

LABEL = RegexValidator(r"\A[a-zA-Z0-9\-_.]*\Z", not_valid("label", "letters, digits, - _ and . only"))
MOST_WEIGHT = 255


class NodeBalancerNodeResource(Resource):
    """A place that the traffic of a config goes to."""

    id = IntegerField(read_only=True)
    address = CharField(
        max_length=21,
        help_text="A private IPv4 address of a compute in the region, and a port: `192.168.128.7:80`.",
    )
    label = CharField(
        min_length=3, max_length=32, validators=[LABEL], help_text="A name for it; letters, digits and `-_.`."
    )
    status = ChoiceField(
        NodeBalancerNode.Status.choices,
        read_only=True,
        help_text=Meanings(
            "Whether it gets traffic, as the last check found.",
            {
                "Unknown": "Nobody looked yet, or nothing checks it.",
                "UP": "It does.",
                "DOWN": "It does not.",
            },
        ),
    )
    weight = IntegerField(
        min_value=1,
        max_value=MOST_WEIGHT,
        required=False,
        help_text="Its share among the others, 1 to 255; by default 50.",
    )
    mode = ChoiceField(
        NodeBalancerNode.Mode.choices,
        required=False,
        help_text=Meanings(
            "What it gets.",
            {
                "accept": "All that is its share; the default.",
                "reject": "Nothing.",
                "drain": "Clients only that stick to it.",
                "backup": "Everything when no other is up.",
            },
        ),
    )
    config_id = IntegerField(read_only=True, help_text="The config that it is behind.")
    nodebalancer_id = IntegerField(
        source="config.nodebalancer_id", read_only=True, help_text="The load balancer that it is of."
    )

    class Meta:
        in_part = True


class RebuiltNode(Resource):
    """A node as a rebuild takes it: with an `id` one that is there, changed by what else is given."""

    id = IdField(
        required=False,
        allow_null=True,
        min_value=1,
        help_text="A node that is there and stays; without it the node is a new one.",
    )
    address = CharField(max_length=21, required=False)
    label = CharField(min_length=3, max_length=32, required=False, validators=[LABEL])
    weight = IntegerField(min_value=1, max_value=MOST_WEIGHT, required=False)
    mode = ChoiceField(NodeBalancerNode.Mode.choices, required=False)

    class Meta:
        as_in = (NodeBalancerNodeResource,)
        in_part = True


def node_wish(given: Mapping[str, Any]) -> NodeWish:
    """What the service takes, from a validated body."""
    return NodeWish(**given)


def its_balancer(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancer]:
    """The load balancer that the path names, if it exists for the actor."""
    return NodeBalancer.objects.visible_to(actor).filter(pk=path["nodebalancer_id"])


def its_config(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancerConfig]:
    """The config that the path names, if its load balancer exists for the actor."""
    mine = its_balancer(actor, path).values("pk")
    return NodeBalancerConfig.objects.filter(nodebalancer__in=mine, pk=path["config_id"])


class NodeBalancerNodeViewSet(ReadOnlyModelViewSet[Actor, NodeBalancerNode]):
    """Nodes of a config: where its traffic goes."""

    serializer_class = NodeBalancerNodeResource
    filterset_class = NodeBalancerNodeFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_parent_queryset(self) -> QuerySet[NodeBalancerConfig]:
        return its_config(self.viewer, self.kwargs)

    def get_queryset(self) -> QuerySet[NodeBalancerNode]:
        return NodeBalancerNode.objects.filter(config__in=self.get_parent_queryset().values("pk")).select_related(
            "config__nodebalancer"
        )

    # the contract asks for read_write to retrieve one
    @operation(WRITE, READ_ONLY)
    def retrieve(self, request: Request, **path: Any) -> Response:
        return super().retrieve(request, **path)

    @operation(WRITE, READ_WRITE)
    def create(self, request: Request, nodebalancer_id: int, config_id: int) -> Response:
        """Add a node to a config.

        Its address belongs to an instance of the account in the same region.
        """
        config, given = self.get_parent(), self.body()
        made = nodes.create(self.actor, config, node_wish(given), given.problems)
        return Response(self.get_serializer(made).data)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, nodebalancer_id: int, config_id: int, id: int) -> Response:
        """Change what is given of a node.

        What is not named stays.
        """
        node, given = self.get_object(), self.body(partial=True)
        return Response(self.get_serializer(nodes.update(self.actor, node, node_wish(given), given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, nodebalancer_id: int, config_id: int, id: int) -> Response:
        """Take a node out of a config.

        It gets no more traffic.
        """
        nodes.delete(self.actor, self.get_object())
        return Response({})
