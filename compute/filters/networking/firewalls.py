"""Firewalls and their devices."""

from compute.models import Firewall, FirewallDevice
from config.filters import ArrayFilter, CharFilter, DateTimeFilter, FilterSet, NumberFilter


class FirewallFilterSet(FilterSet):
    """Firewalls of an account or of an instance."""

    id = NumberFilter()
    label = CharFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()
    tags = ArrayFilter()

    class Meta:
        model = Firewall


class FirewallDeviceFilterSet(FilterSet):
    """Devices of a firewall."""

    id = NumberFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()

    class Meta:
        model = FirewallDevice
