"""Filters of records of domains."""

from typing import Any

from compute.models import DomainRecord
from compute.punycode import to_ascii
from config.filters import CharFilter, FilterSet, NumberFilter
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
