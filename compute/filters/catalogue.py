"""Filters of instance types and kernels."""

from compute.models import InstanceType, Kernel
from config.filters import BooleanFilter, CharFilter, DateTimeFilter, FilterSet, NumberFilter, PlatformFilter


class TypeFilterSet(FilterSet):
    """Filters of instance types."""

    id = CharFilter()
    label = PlatformFilter()
    class_ = CharFilter("type_class")
    memory = NumberFilter()
    disk = NumberFilter()
    vcpus = NumberFilter()
    gpus = NumberFilter()
    transfer = NumberFilter()
    network_out = NumberFilter()
    successor = CharFilter("successor_id")

    class Meta:
        model = InstanceType


class KernelFilterSet(FilterSet):
    """Filters of kernels."""

    id = PlatformFilter()
    label = PlatformFilter()
    version = PlatformFilter()
    kvm = BooleanFilter()
    xen = BooleanFilter()
    architecture = CharFilter()
    pvops = BooleanFilter()
    deprecated = BooleanFilter()
    built = DateTimeFilter()

    class Meta:
        model = Kernel
