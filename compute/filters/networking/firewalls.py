"""Filters of firewalls and their devices."""

from compute.models import Firewall, FirewallDevice
from config.filters import ArrayFilter, CharFilter, DateTimeFilter, FilterSet, NumberFilter


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
