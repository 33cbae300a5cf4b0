"""Users."""

from accounts.models import User
from config.filters import CharFilter, FilterSet


class UserFilterSet(FilterSet):
    """Users of an account."""

    username = CharFilter()

    class Meta:
        model = User
