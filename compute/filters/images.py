"""Images."""

from compute.models import Image
from config.filters import BooleanFilter, CharFilter, DateTimeFilter, FilterSet, NumberFilter


class ImageFilterSet(FilterSet):
    """Public images, and those of an account."""

    id = CharFilter()
    label = CharFilter()
    vendor = CharFilter()
    size = NumberFilter()
    type = CharFilter()
    status = CharFilter()
    is_public = BooleanFilter()
    deprecated = BooleanFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()
    created_by = CharFilter()

    class Meta:
        model = Image
