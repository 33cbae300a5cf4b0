"""The list of VLANs, with the instances on them."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import QuerySet

from accounts.pages.objects import ObjectListPage
from compute.filters.networking.vlans import VLANListFilterSet
from compute.models import VLAN, Config
from compute.models.networking.vlans import naming_before
from compute.services.networking.interfaces import VLAN as VLAN_PURPOSE
from config.pages.lists import Column

MEMBERS_SHOWN = 20
"""Instances of a VLAN that a row shows."""


class VLANsView(ObjectListPage):
    """``/home/vlans``: the VLANs that configuration profiles name. Profiles are edited on an instance's pages."""

    model = VLAN
    noun = "vlans"
    template_name = "compute/vlans.html"
    filterset_class = VLANListFilterSet
    columns = (
        Column("Label", "label"),
        Column("Region", "region"),
        Column("Instances and their addresses"),
        Column("Created", "created"),
    )

    def get_queryset(self) -> QuerySet[VLAN]:
        ids = naming_before(self.actor).order_by("instance").values("instance").distinct()
        return super().get_queryset().annotate(on_it=ArraySubquery(ids))

    def writable(self, shown: list[Any]) -> Collection[int]:
        """Return none: profiles of instances decide about VLANs."""
        return ()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = [row.object for row in context["rows"]]
        members = members_of(shown)
        more = {vlan.pk: max(0, len(vlan.on_it) - MEMBERS_SHOWN) for vlan in shown}
        return {**context, "no_match": "No VLANs match", "members": members, "more": more}


def members_of(vlans: list[Any]) -> dict[int, dict[Any, list[str]]]:
    """Return the instances on each VLAN, at most `MEMBERS_SHOWN`, with their addresses there. One query."""
    wanted = {vlan.pk: vlan.on_it[:MEMBERS_SHOWN] for vlan in vlans}
    keys = {pk for keys in wanted.values() for pk in keys}
    configs = Config.objects.filter(instance__in=keys).select_related("instance").order_by("instance__label", "pk")
    found: dict[int, dict[Any, list[str]]] = {vlan.pk: defaultdict(list) for vlan in vlans}
    rows = list(configs)
    for vlan in vlans:
        for config in rows:
            if config.instance_id not in wanted[vlan.pk]:
                continue
            for each in config.interfaces:
                if each["purpose"] == VLAN_PURPOSE and each["label"] == vlan.label:
                    addresses = found[vlan.pk][config.instance]
                    if each["ipam_address"] and each["ipam_address"] not in addresses:
                        addresses.append(each["ipam_address"])
    return {pk: dict(members) for pk, members in found.items()}
