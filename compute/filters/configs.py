"""Filters of configuration profiles."""

from compute.models import Config
from config.filters import CharFilter, FilterSet, LabelsFilter, NumberFilter


class ConfigFilterSet(FilterSet):
    """Filters of configuration profiles of an instance."""

    id = NumberFilter()
    label = CharFilter()
    interfaces = LabelsFilter()
    interfaces__label = LabelsFilter("interfaces")

    class Meta:
        model = Config
