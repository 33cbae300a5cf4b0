"""Filters of images."""

from typing import Any

from django.db.models import Q
from django.forms import Select

from compute.models import Image
from config import word
from config.filters import (
    BooleanFilter,
    CharFilter,
    ChoiceFilter,
    DateTimeFilter,
    FilterSet,
    NumberFilter,
    PartFilter,
    PlatformFilter,
    StatusFilter,
)


class CreatorFilter(PlatformFilter):
    """The creator of an image: the platform for public images, else a user, whose name may be any word."""

    def is_value(self, value: str) -> Q:
        condition = super().is_value(value)
        return self._by(condition, super().is_value(word.read(value))) if word.IS_SET else condition

    def among(self, raws: list[Any]) -> Q:
        return Q(*map(self.equals, raws), _connector=Q.OR) if word.IS_SET else super().among(raws)

    def contains(self, raw: Any) -> Q:
        condition = super().contains(raw)
        return self._by(condition, CharFilter.contains(self, raw)) if word.IS_SET else condition

    def compares(self, operator: str, raw: Any) -> Q:
        condition = super().compares(operator, raw)
        user = Q(**{f"{self.field_name}__{operator}": CharFilter.value(self, raw)})
        return self._by(condition, user) if word.IS_SET else condition

    def _by(self, platform: Q, user: Q) -> Q:
        """Return the condition of public images, and the condition of images of a user."""
        return Q(platform, is_public=True) | Q(user, is_public=False)


class ImageFilterSet(FilterSet):
    """Filters of public images and of the images of an account."""

    id = PlatformFilter()
    label = CharFilter()
    vendor = CharFilter()
    size = NumberFilter()
    type = CharFilter()
    status = CharFilter()
    is_public = BooleanFilter()
    deprecated = BooleanFilter()
    created = DateTimeFilter()
    updated = DateTimeFilter()
    created_by = CreatorFilter()

    class Meta:
        model = Image


class OwnImageListFilterSet(FilterSet):
    """The filters of the account's own images in the browser."""

    label = PartFilter(label="Label")
    status = StatusFilter(label="Status")

    class Meta:
        model = Image


class PublicImageListFilterSet(FilterSet):
    """The filters of the platform's images in the browser."""

    label = PartFilter(label="Label")
    vendor = ChoiceFilter(label="Vendor")
    deprecated = BooleanFilter(
        label="Deprecated", widget=Select(choices=[("", "any"), ("true", "yes"), ("false", "no")])
    )

    class Meta:
        model = Image
