"""The nodes of a load balancer's config."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.filters.nodebalancers.nodes import NodeBalancerNodeFilterSet
from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.serializers.nodebalancers.nodes import NodeBalancerNodeResource, node_wish
from compute.services.nodebalancers import nodes
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.paths import PathParameters
from config.api.views import ReadOnlyModelViewSet

READ = "nodebalancers:read_only"
WRITE = "nodebalancers:read_write"


def its_balancer(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancer]:
    """The load balancer that the path names, if it exists for the actor."""
    return NodeBalancer.objects.visible_to(actor).filter(pk=path["nodebalancer_id"])


def its_config(actor: Actor, path: PathParameters) -> QuerySet[NodeBalancerConfig]:
    """The config that the path names, if its load balancer exists for the actor."""
    mine = its_balancer(actor, path).values("pk")
    return NodeBalancerConfig.objects.filter(nodebalancer__in=mine, pk=path["config_id"])


class NodeBalancerNodeViewSet(ReadOnlyModelViewSet[Actor, NodeBalancerNode]):
    """Nodes of a config: the addresses and ports that its traffic is sent to."""

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

        Its address must belong to an instance of the account in the same region.
        """
        config, given = self.get_parent(), self.body()
        made = nodes.create(self.actor, config, node_wish(given), given.problems)
        return Response(self.get_serializer(made).data)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, nodebalancer_id: int, config_id: int, id: int) -> Response:
        """Change the given fields of a node.

        Other fields stay as they are.
        """
        node, given = self.get_object(), self.body(partial=True)
        return Response(self.get_serializer(nodes.update(self.actor, node, node_wish(given), given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, nodebalancer_id: int, config_id: int, id: int) -> Response:
        """Remove a node from a config.

        The node gets no traffic after that.
        """
        nodes.delete(self.actor, self.get_object())
        return Response({})
