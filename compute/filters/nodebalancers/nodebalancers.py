"""Filters of load balancers."""

from compute.models import NodeBalancer
from config.filters import (
    AddressFilter,
    ArrayFilter,
    CharFilter,
    ChoiceFilter,
    ElementFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
)


class NodeBalancerFilterSet(FilterSet):
    """Filters of load balancers of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    region = CharFilter("region_id")
    ipv4 = AddressFilter()
    tags = ArrayFilter()

    class Meta:
        model = NodeBalancer


class NodeBalancerListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form."""

    label = PartFilter(label="Label")
    region = ChoiceFilter("region_id", label="Region")
    tags = ElementFilter(label="Tag")

    class Meta:
        model = NodeBalancer
