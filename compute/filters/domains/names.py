"""A filter for names of the DNS on pages."""

from typing import Any

from django.db.models import Q

from compute.punycode import to_ascii
from config.filters import PartFilter


class NamePartFilter(PartFilter):
    """A part of a name, in Unicode or punycode. Columns have names in punycode, and other texts as they are."""

    def is_value(self, value: Any) -> Q:
        return super().is_value(value) | super().is_value(to_ascii(value.strip()))
