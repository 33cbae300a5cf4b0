"""The filters of the list of tags."""

from config.filters import CharFilter, FilterSet, PartFilter
from tags.models import Tag


class TagFilterSet(FilterSet):
    """Filters of tags of an account."""

    label = CharFilter()

    class Meta:
        model = Tag


class TagListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    label = PartFilter(label="Tag")

    class Meta:
        model = Tag
