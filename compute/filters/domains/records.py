"""Filters of records of domains."""

from typing import Any

from compute.filters.domains.names import NamePartFilter
from compute.models import DomainRecord
from compute.punycode import to_ascii
from config.filters import CharFilter, ChoiceFilter, FilterSet, NumberFilter
from config.filters.fields import CharField


class RecordNameField(CharField):
    """The name of a record. The column has the name in punycode."""

    @staticmethod
    def from_json(value: Any) -> str:
        return to_ascii(CharField.from_json(value))

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return CharField.from_json(value)


class RecordNameFilter(CharFilter):
    """The name of a record, in Unicode or punycode. A part of a name is searched as the column has it."""

    field_class = RecordNameField


class RecordFilterSet(FilterSet):
    """Filters of records of a domain."""

    id = NumberFilter()
    type = CharFilter()
    name = RecordNameFilter()
    target = CharFilter()
    tag = CharFilter()

    class Meta:
        model = DomainRecord


class RecordListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form. Names are those of the API's fields."""

    name = NamePartFilter(label="Name")
    type = ChoiceFilter(label="Type")
    target = NamePartFilter(label="Value")

    class Meta:
        model = DomainRecord
