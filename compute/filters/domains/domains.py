"""Filters of domains."""

from typing import Any

from compute.filters.domains.names import NamePartFilter
from compute.models import Domain
from compute.punycode import to_ascii
from config.filters import (
    ArrayFilter,
    CaselessFilter,
    CharFilter,
    ChoiceFilter,
    ElementFilter,
    FilterSet,
    NumberFilter,
    StatusFilter,
)
from config.filters.fields import CaselessField, CharField


class ZoneNameField(CaselessField):
    """The name of a domain. The column has the name in punycode."""

    @staticmethod
    def from_json(value: Any) -> str:
        return CaselessField.from_json(to_ascii(CharField.from_json(value)))

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return CaselessField.from_json(value)


class ZoneNameFilter(CaselessFilter):
    """The name of a domain, in Unicode or punycode. A part of a name is searched as the column has it."""

    field_class = ZoneNameField


class DomainFilterSet(FilterSet):
    """Filters of domains of an account."""

    id = NumberFilter()
    domain = ZoneNameFilter("label")
    group = CharFilter()
    tags = ArrayFilter()

    class Meta:
        model = Domain


class DomainListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form. Names are those of the API's fields."""

    domain = NamePartFilter("label", label="Domain")
    type = ChoiceFilter(label="Type")
    status = StatusFilter(label="Status")
    tags = ElementFilter(label="Tag")

    class Meta:
        model = Domain
