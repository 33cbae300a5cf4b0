"""Addresses and IPv6 ranges."""

from compute.models import Address, IPv6Range
from config.filters import AddressFilter, CharFilter, FilterSet, NumberFilter


class AddressFilterSet(FilterSet):
    """Filters of addresses of an account."""

    address = AddressFilter()
    compute_id = NumberFilter("instance_id")
    region = CharFilter("region_id")

    class Meta:
        model = Address


class IPv6RangeFilterSet(FilterSet):
    """Filters of IPv6 ranges and pools of an account."""

    range = AddressFilter()
    region = CharFilter("region_id")

    class Meta:
        model = IPv6Range
