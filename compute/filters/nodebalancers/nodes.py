"""Nodes of load balancers."""

from compute.models import NodeBalancerNode
from config.filters import FilterSet, NumberFilter


class NodeBalancerNodeFilterSet(FilterSet):
    """Nodes of a port."""

    id = NumberFilter()

    class Meta:
        model = NodeBalancerNode
