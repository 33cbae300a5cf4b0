"""Filters of addresses and IPv6 ranges."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet

from compute.models import Address, IPv6Range
from config.filters import AddressFilter, CharFilter, ChoiceFilter, FilterSet, NumberFilter, PartFilter


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


IPV6 = Q(address__contains=":")
KINDS = {
    "public": ("public IPv4", Q(public=True) & ~IPV6),
    "private": ("private IPv4", Q(public=False) & ~IPV6),
    "ipv6": ("IPv6", IPV6),
}
"""The kinds of addresses by the values of `KindFilter`: the words, and the condition."""


class KindFilter(ChoiceFilter):
    """The kind of an address: one of `KINDS`."""

    def choices(self, rows: QuerySet) -> Iterable[tuple[str, str]]:
        return [(value, words) for value, (words, _) in KINDS.items()]

    def is_value(self, value: Any) -> Q:
        return KINDS[value][1] if value in KINDS else Q(pk__in=[])


class AddressListFilterSet(FilterSet):
    """The filters of the list of addresses in the browser, in the order of its form."""

    address = PartFilter(label="Address")
    kind = KindFilter("address", label="Kind")
    region = ChoiceFilter("region_id", label="Region")
    instance = PartFilter("instance__label", label="Instance")

    class Meta:
        model = Address


class IPv6RangeListFilterSet(FilterSet):
    """The filters of the list of ranges in the browser, in the order of its form."""

    range = PartFilter(label="Range")
    region = ChoiceFilter("region_id", label="Region")
    instance = PartFilter("instance__label", label="Instance")

    class Meta:
        model = IPv6Range
