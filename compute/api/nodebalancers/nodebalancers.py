"""Load balancers of the account, and those that send traffic to an instance."""

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.nested import OfInstance
from compute.api.nodebalancers.configs import READ, WRITE
from compute.filters.nodebalancers.nodebalancers import NodeBalancerFilterSet
from compute.models import NodeBalancer, NodeBalancerNode
from compute.serializers.nodebalancers.nodebalancers import NewNodeBalancer, NodeBalancerResource, spec_of
from compute.serializers.nodebalancers.stats import NodeBalancerStats
from compute.services.nodebalancers import nodebalancers, stats
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ListViewSet, ReadOnlyModelViewSet


class NodeBalancerViewSet(ReadOnlyModelViewSet[Actor, NodeBalancer]):
    """Load balancers, which distribute the connections to an address among computes of their region."""

    serializer_class = NodeBalancerResource
    filterset_class = NodeBalancerFilterSet
    queryset = NodeBalancer.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_nodebalancers", request=NewNodeBalancer)
    def create(self, request: Request) -> Response:
        """Create a load balancer, optionally with configs and their nodes.

        It accepts traffic within seconds.
        """
        given = self.body()
        made = nodebalancers.create(self.actor, spec_of(given), given.problems)
        return self.retrieve(request, id=made.pk)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, id: int) -> Response:
        """Change label, throttle or tags.

        Fields that are not given stay as they are.
        """
        balancer, given = self.get_object(), self.body(partial=True)
        tags = given.pop("tags", None)
        nodebalancers.update(self.actor, balancer, given, tags, given.problems)
        return self.retrieve(request, id=id)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a load balancer with its configs and nodes, and release its address.

        Cannot be undone.
        """
        nodebalancers.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["get"])
    @operation(READ, READ_ONLY, response=NodeBalancerStats, throttle_scope="stats", refusals=(400,))
    def stats(self, request: Request, id: int) -> Response:
        """Get the load of the last 24 hours, in averages of five minutes.

        If there are no samples yet, the answer is 400.
        """
        return Response(stats.of_last_day(self.get_object()))


class InstanceNodeBalancerViewSet(OfInstance, ListViewSet[Actor, NodeBalancer]):
    """The load balancers with a node on an instance. Load balancers that the caller may not see are left out."""

    serializer_class = NodeBalancerResource
    filterset_class = NodeBalancerFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[NodeBalancer]:
        nodes = NodeBalancerNode.objects.filter(instance__in=self.get_parent_queryset().values("pk"))
        return NodeBalancer.objects.visible_to(self.viewer).filter(pk__in=nodes.values("config__nodebalancer"))
