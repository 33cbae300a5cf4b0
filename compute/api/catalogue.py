"""The catalogue: instance types and kernels."""

from django.db.models import QuerySet

from compute.filters.catalogue import KernelFilterSet, TypeFilterSet
from compute.models import InstanceType, Kernel
from compute.serializers.catalogue import KernelResource, TypeResource
from config.api.access import ANYONE, PUBLIC
from config.api.views import QUARTER_HOUR, ReadOnlyModelViewSet


class TypeViewSet(ReadOnlyModelViewSet):
    """Instance types: sizes and prices. The list leaves out deprecated types."""

    serializer_class = TypeResource
    filterset_class = TypeFilterSet
    lookup_value_converter = "slug_id"
    required_scopes = PUBLIC
    required_grant = ANYONE
    ordering = ("position", "id")
    cache_control = QUARTER_HOUR

    def get_queryset(self) -> QuerySet[InstanceType]:
        types = InstanceType.objects.all()
        return types.filter(deprecated=False) if self.action == "list" else types


class KernelViewSet(ReadOnlyModelViewSet):
    """Kernels that instances boot."""

    serializer_class = KernelResource
    filterset_class = KernelFilterSet
    lookup_value_converter = "catalogue_slug"
    required_scopes = PUBLIC
    required_grant = ANYONE
    ordering = ("position", "id")
    cache_control = QUARTER_HOUR

    def get_queryset(self) -> QuerySet[Kernel]:
        return Kernel.objects.all()
