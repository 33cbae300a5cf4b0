"""Filters of OAuth clients."""

from accounts.models import OAuthClient
from config.filters import BooleanFilter, CharFilter, FilterSet, PartFilter, StatusFilter


class OAuthClientFilterSet(FilterSet):
    """Filters of OAuth clients of an account."""

    id = CharFilter("client_id")
    label = CharFilter("name")
    public = BooleanFilter()

    class Meta:
        model = OAuthClient


class OAuthClientListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    label = PartFilter("name", label="Label")
    status = StatusFilter(label="Status")

    class Meta:
        model = OAuthClient
