"""Filters of ports of load balancers."""

from compute.models import NodeBalancerConfig
from config.filters import FilterSet, NumberFilter


class NodeBalancerConfigFilterSet(FilterSet):
    """Filters of ports of a load balancer."""

    id = NumberFilter()

    class Meta:
        model = NodeBalancerConfig
