"""Filters of disks."""

from compute.models import Disk
from config.filters import CharFilter, FilterSet, NumberFilter


class DiskFilterSet(FilterSet):
    """Filters of disks of an instance."""

    id = NumberFilter()
    label = CharFilter()
    size = NumberFilter()

    class Meta:
        model = Disk
