"""Filters of users."""

from accounts.models import User
from config.filters import CharFilter, FilterSet


class UserFilterSet(FilterSet):
    """Filters of users of an account."""

    username = CharFilter()

    class Meta:
        model = User
