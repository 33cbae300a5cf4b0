"""Filters of users."""

from accounts.models import User
from config.filters import CharFilter, FilterSet, GivenChoiceFilter, PartFilter


class UserFilterSet(FilterSet):
    """Filters of users of an account."""

    username = CharFilter()

    class Meta:
        model = User


class UserListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    username = PartFilter(label="Username")
    email = PartFilter(label="Email")
    restricted = GivenChoiceFilter(label="Access", given=[("True", "restricted"), ("False", "unrestricted")])

    class Meta:
        model = User
