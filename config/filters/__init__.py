"""The kit of all filter sets: django-filter with strict values and the operators of ``X-Filter``.

An app declares a `FilterSet` for each of its lists in its layer ``filters``, below ``api`` and ``pages``. `filters`
has the filters, `inputs` those of pages, `fields` their form fields, which read values, and `lookups` the lookups
that Django lacks.
"""

from config.filters.filters import (
    OPERATORS,
    AddressFilter,
    ArrayFilter,
    BooleanFilter,
    CaselessFilter,
    CharFilter,
    DateTimeFilter,
    DecimalFilter,
    Filter,
    LabelsFilter,
    NumberFilter,
    PlatformArrayFilter,
    PlatformFilter,
    refuse,
)
from config.filters.filtersets import FilterSet
from config.filters.inputs import (
    ChoiceFilter,
    ElementFilter,
    GivenChoiceFilter,
    PartFilter,
    SinceFilter,
    StatusFilter,
    UntilFilter,
)

__all__ = [
    "OPERATORS",
    "AddressFilter",
    "ArrayFilter",
    "BooleanFilter",
    "CaselessFilter",
    "CharFilter",
    "ChoiceFilter",
    "DateTimeFilter",
    "DecimalFilter",
    "ElementFilter",
    "Filter",
    "FilterSet",
    "GivenChoiceFilter",
    "LabelsFilter",
    "NumberFilter",
    "PartFilter",
    "PlatformArrayFilter",
    "PlatformFilter",
    "SinceFilter",
    "StatusFilter",
    "UntilFilter",
    "refuse",
]
