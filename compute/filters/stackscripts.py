"""Filters of StackScripts."""

from compute.models import StackScript
from config.filters import BooleanFilter, CharFilter, FilterSet, NumberFilter, PartFilter


class StackScriptFilterSet(FilterSet):
    """Filters of public StackScripts and of the StackScripts of an account."""

    id = NumberFilter()
    username = CharFilter()
    label = CharFilter()
    description = CharFilter()
    deployments_total = NumberFilter()
    is_public = BooleanFilter()
    rev_note = CharFilter()
    mine = BooleanFilter()

    class Meta:
        model = StackScript


class StackScriptListFilterSet(FilterSet):
    """The filters of the lists in the browser, in the order of their form."""

    label = PartFilter(label="Label")
    description = PartFilter(label="Description")
    username = PartFilter(label="Author")

    class Meta:
        model = StackScript
