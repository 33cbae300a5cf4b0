"""The configs of a load balancer, one for each port."""

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.nodebalancers.nodes import READ, WRITE, its_balancer
from compute.filters.nodebalancers.configs import NodeBalancerConfigFilterSet
from compute.models import NodeBalancer, NodeBalancerConfig
from compute.serializers.nodebalancers.configs import (
    NodeBalancerConfigCreate,
    NodeBalancerConfigRebuild,
    NodeBalancerConfigRequest,
    NodeBalancerConfigResource,
    wish_of,
)
from compute.services.nodebalancers import configs
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet
from config.errors import Denied


class NodeBalancerConfigViewSet(ReadOnlyModelViewSet[Actor, NodeBalancerConfig]):
    """Configs of a load balancer: its ports, and how the traffic of each is distributed."""

    serializer_class = NodeBalancerConfigResource
    filterset_class = NodeBalancerConfigFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_parent_queryset(self) -> QuerySet[NodeBalancer]:
        return its_balancer(self.viewer, self.kwargs)

    def get_queryset(self) -> QuerySet[NodeBalancerConfig]:
        mine = self.get_parent_queryset().values("pk")
        return NodeBalancerConfig.objects.filter(nodebalancer__in=mine).select_related("nodebalancer")

    @operation(WRITE, READ_WRITE, request=NodeBalancerConfigCreate)
    def create(self, request: Request, nodebalancer_id: int) -> Response:
        """Add a port to a load balancer.

        A load balancer has one config for each port.
        """
        balancer, given = self.get_parent(), self.body()
        config = configs.create(self.actor, balancer, wish_of(given), given.problems)
        return self.retrieve(request, nodebalancer_id=nodebalancer_id, id=config.pk)

    @operation(WRITE, READ_WRITE, request=NodeBalancerConfigRequest)
    def update(self, request: Request, nodebalancer_id: int, id: int) -> Response:
        """Change the given fields of a config.

        Other fields stay as they are. Nodes are changed by their own operations, or by `rebuild`.
        """
        config, given = self.get_object(), self.body(partial=True)
        configs.update(self.actor, config, wish_of(given), given.problems)
        return self.retrieve(request, nodebalancer_id=nodebalancer_id, id=id)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, nodebalancer_id: int, id: int) -> Response:
        """Close a port, and delete its nodes.

        Cannot be undone.
        """
        configs.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, "add_nodebalancers", request=NodeBalancerConfigRebuild, response=NodeBalancerConfigResource)
    def rebuild(self, request: Request, nodebalancer_id: int, id: int) -> Response:
        """Replace a config and all its nodes. Fields that are not given get their defaults.

        Nodes named by their `id` stay. The certificate and its key stay if none are given.
        """
        config = self.get_object()
        # besides what a create needs, a rebuild needs what every change of this load balancer does
        if not NodeBalancer.objects.writable_by(self.actor).filter(pk=nodebalancer_id).exists():
            raise Denied
        given = self.body()
        configs.rebuild(self.actor, config, wish_of(given), given.problems)
        return self.retrieve(request, nodebalancer_id=nodebalancer_id, id=id)
