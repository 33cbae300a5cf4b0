"""Filters of load balancers."""

from compute.models import NodeBalancer
from config.filters import AddressFilter, ArrayFilter, CharFilter, FilterSet, NumberFilter


class NodeBalancerFilterSet(FilterSet):
    """Filters of load balancers of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    region = CharFilter("region_id")
    ipv4 = AddressFilter()
    tags = ArrayFilter()

    class Meta:
        model = NodeBalancer
