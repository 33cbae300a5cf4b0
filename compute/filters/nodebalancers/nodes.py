"""Filters of nodes of load balancers."""

from compute.models import NodeBalancerNode
from config.filters import FilterSet, NumberFilter


class NodeBalancerNodeFilterSet(FilterSet):
    """Filters of nodes of a port."""

    id = NumberFilter()

    class Meta:
        model = NodeBalancerNode
