"""The base of all views below an instance."""

from typing import Any

from django.db.models import QuerySet

from compute.models import Instance


class OfInstance:
    """Mixin of views below ``compute/instances/{compute_id}``: the instance is the parent of their objects."""

    viewer: Any
    kwargs: dict[str, Any]

    def get_parent_queryset(self) -> QuerySet[Instance]:
        return Instance.objects.visible_to(self.viewer).filter(pk=self.kwargs["compute_id"])
