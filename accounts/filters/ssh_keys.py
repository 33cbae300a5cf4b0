"""Filters of SSH keys."""

from accounts.models import SSHKey
from config.filters import FilterSet, NumberFilter


class SSHKeyFilterSet(FilterSet):
    """Filters of SSH keys of a user."""

    id = NumberFilter()

    class Meta:
        model = SSHKey
