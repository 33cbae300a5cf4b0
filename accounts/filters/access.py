"""Filters of sign-ins, trusted browsers and apps."""

from accounts.models import Authorization, Login, TrustedDevice
from config.filters import (
    AddressFilter,
    DateTimeFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
    SinceFilter,
    UntilFilter,
)


class LoginFilterSet(FilterSet):
    """Filters of sign-ins of a user, or of all users of an account."""

    id = NumberFilter()

    class Meta:
        model = Login


class LoginListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    username = PartFilter(label="Username")
    ip = AddressFilter(label="Address")
    since = SinceFilter("created", label="From (UTC)")
    until = UntilFilter("created", label="To (UTC)")

    class Meta:
        model = Login


class TrustedDeviceFilterSet(FilterSet):
    """Filters of browsers that a user trusts."""

    id = NumberFilter()
    expiry = DateTimeFilter()
    last_remote_addr = AddressFilter()

    class Meta:
        model = TrustedDevice


class AppFilterSet(FilterSet):
    """Filters of apps that a user has given access."""

    id = NumberFilter()
    created = DateTimeFilter()
    expiry = DateTimeFilter()

    class Meta:
        model = Authorization
