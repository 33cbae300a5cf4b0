"""Filters of OAuth clients."""

from accounts.models import OAuthClient
from config.filters import BooleanFilter, CharFilter, FilterSet


class OAuthClientFilterSet(FilterSet):
    """Filters of OAuth clients of an account."""

    id = CharFilter("client_id")
    label = CharFilter("name")
    public = BooleanFilter()

    class Meta:
        model = OAuthClient
