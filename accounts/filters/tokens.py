"""Personal tokens."""

from accounts.models import PersonalToken
from config.filters import CharFilter, DateTimeFilter, FilterSet, NumberFilter


class PersonalTokenFilterSet(FilterSet):
    """Tokens of a user."""

    id = NumberFilter()
    label = CharFilter()
    created = DateTimeFilter()

    class Meta:
        model = PersonalToken
