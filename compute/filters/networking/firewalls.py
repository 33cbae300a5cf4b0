"""Filters of firewalls and their devices."""

from compute.models import Firewall, FirewallDevice
from config.filters import (
    ArrayFilter,
    CharFilter,
    DateTimeFilter,
    ElementFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
    StatusFilter,
)


class FirewallFilterSet(FilterSet):
    """Filters of firewalls of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()
    tags = ArrayFilter()

    class Meta:
        model = Firewall


class FirewallDeviceFilterSet(FilterSet):
    """Filters of devices of a firewall."""

    id = NumberFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()

    class Meta:
        model = FirewallDevice


class FirewallListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form."""

    label = PartFilter(label="Label")
    status = StatusFilter(label="Status")
    tags = ElementFilter(label="Tag")

    class Meta:
        model = Firewall
