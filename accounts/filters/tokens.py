"""Filters of personal tokens."""

from accounts.models import PersonalToken
from config.filters import CharFilter, DateTimeFilter, FilterSet, NumberFilter


class PersonalTokenFilterSet(FilterSet):
    """Filters of tokens of a user."""

    id = NumberFilter()
    label = CharFilter()
    created = DateTimeFilter()

    class Meta:
        model = PersonalToken
