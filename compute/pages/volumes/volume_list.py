"""The list of volumes."""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Lower

from accounts.pages.live_pages import LiveListPage
from compute.filters.volumes import VolumeListFilterSet
from compute.models import Volume
from compute.pages.volumes.base import VolumeRow, rows_of
from config.pages.lists import Column


class VolumesView(LiveListPage):
    """``/home/volumes``: the volumes that the user may see. The rows update themselves."""

    template_name = "compute/volumes.html"
    part_template = "compute/volumes_part.html"
    model = Volume
    noun = "volumes"
    new = "volume-new"
    add = "add_volumes"
    filterset_class = VolumeListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Status", "status"),
        Column("Size", "size"),
        Column("Region", "region", F("region_id")),
        Column("Attached to", "instance", Lower("instance__label")),
        Column("Tags"),
        Column("Created", "created"),
    )

    def get_queryset(self) -> QuerySet[Volume]:
        return super().get_queryset().select_related("region", "instance")

    def rows(self, shown: list[Volume]) -> list[VolumeRow]:  # type: ignore[override] # a list of a subclass
        return rows_of(self.actor, shown)

    def values_of(self, rows: Iterable[VolumeRow]) -> Iterable[Any]:
        return (row.values for row in rows)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {**context, "unsettled": any(row.unsettled for row in context["rows"])}
