"""Links from the lines of usage to the pages of their resources."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from accounts.actors import Actor
from accounts.pages.entity_links import addresses_of
from compute.models import Backup, Instance, IPv6Range, UsageKind, Volume
from compute.services.usage.reports import Group

TABS: Mapping[str, tuple[type[Any], str]] = {
    UsageKind.VOLUME: (Volume, "instance-storage"),
    UsageKind.BACKUP: (Backup, "instance-backups"),
    UsageKind.IPV6_RANGE: (IPv6Range, "instance-network"),
}
"""The models of resources that are shown on a tab of their instance, and the name of the tab's URL."""
OF_INSTANCES: Mapping[str, str] = {
    UsageKind.COMPUTE: "instance", UsageKind.COMPUTE_BACKUPS: "instance-backups",
}  # fmt: skip
"""The kinds whose resource is an instance."""

OF_THEIR_OWN = frozenset({UsageKind.VOLUME, UsageKind.IMAGE, UsageKind.NODEBALANCER})
"""The kinds whose resource has a page. Their values are the names of the kinds of entity."""


def links_of(actor: Actor, groups: Iterable[Group]) -> dict[tuple[str, int], str]:
    """Return the addresses of pages about resources that still exist and that the actor may see.

    An attached volume has the tab of its instance if the actor may see the instance. At most seven queries.
    """
    keys = [(group.kind, group.resource) for group in groups if group.resource is not None]
    instance_of = {(kind, key): key for kind, key in keys if kind in OF_INSTANCES}
    for kind, (model, _) in TABS.items():
        wanted = [key for each, key in keys if each == kind]
        rows: QuerySet[Any] = model._default_manager.filter(account=actor.account_id, pk__in=wanted)
        there = rows.exclude(instance=None).values_list("pk", "instance_id")
        instance_of.update({(kind, key): instance for key, instance in there})
    visible = set(
        Instance.objects.visible_to(actor).filter(pk__in=set(instance_of.values())).values_list("pk", flat=True)
    )
    pages = {**OF_INSTANCES, **{kind: page for kind, (_, page) in TABS.items()}}
    tabs = {
        (kind, key): reverse(pages[kind], args=[instance])
        for (kind, key), instance in instance_of.items()
        if instance in visible
    }
    own = (key for key in keys if key[0] in OF_THEIR_OWN and key not in tabs)
    return tabs | addresses_of(actor, own)
