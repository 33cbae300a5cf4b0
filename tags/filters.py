"""The filters of the list of tags."""

from config.filters import CharFilter, FilterSet
from tags.models import Tag


class TagFilterSet(FilterSet):
    """Filters of tags of an account."""

    label = CharFilter()

    class Meta:
        model = Tag
