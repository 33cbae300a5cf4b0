"""VLANs. The configuration profiles that name a VLAN decide whether it exists, and which instances are on it.

A VLAN begins to exist when a profile of the account first names it in the region. It ends when no profile names it
any more; its row may stay until the account's next VLAN is counted.

A caller that lets profiles name VLANs locks the row of the account until the end (`lock_account`, before any
instance's). So of two requests that add the tenth VLAN, the second counts the VLAN of the first.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Exists, F, OuterRef
from django.db.models.fields.json import KeyTextTransform

from accounts.actors import Actor
from accounts.services.events import EntityRef, record_events
from compute.models import VLAN, Config, Instance, Job
from compute.models.networking.vlans import naming
from compute.refs import instance_ref
from compute.services.common.regions import VLANS
from config import word
from config.errors import Problems
from regions.models import Region

MAX_VLANS = 10
"""VLANs of an account in one region."""
GONE = word.sentence("The compute was deleted.")


def vlans_of(configs: Iterable[Config]) -> set[str]:
    """Return the labels of the VLANs that these profiles have interfaces on."""
    return {label for config in configs for label in vlans_in(config.interfaces)}


def vlans_in(interfaces: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the labels of the VLANs among the interfaces of one profile."""
    return {interface.get("label", "") for interface in interfaces if interface["purpose"] == "vlan"}


def check_vlans(account_id: int, region: Region, labels: set[str], field: str, problems: Problems) -> None:
    """Note on `field` if these VLANs cannot be in the region: it has no VLANs, or the account would have too many
    there.

    The account's row is locked. VLANs that no profile names any more do not count.
    """
    if not labels:
        return
    if VLANS not in region.capabilities:
        advice = "Choose another region or contact support."
        problems.add(field, f"The compute is attached to a VLAN, and this region has none. {advice}")
        return
    _forget_unnamed(account_id, region.pk)
    if len(labels | _labels(account_id, region.pk)) > MAX_VLANS:
        problems.add(field, f"An account has at most {MAX_VLANS} VLANs in a region.")


def bring_vlans(account_id: int, region_id: str, labels: set[str]) -> None:
    """Insert the VLANs, checked by `check_vlans`, that do not exist in the region yet."""
    if labels:
        new = sorted(labels - _labels(account_id, region_id))
        VLAN.objects.bulk_create(VLAN(account_id=account_id, region_id=region_id, label=label) for label in new)


def leave(instance: Instance) -> None:
    """Record that an instance which is being deleted leaves its VLANs."""
    record_vlan_changes(
        Actor.platform(instance.account_id), instance, vlans_of(instance.configs.all()), set(), GONE
    )


def record_vlan_changes(
    actor: Actor, instance: Instance, before: set[str], after: set[str], message: str = ""
) -> None:
    """Record one event for each VLAN that the instance has joined or left."""
    for action, labels in (("vlan_attach", after - before), ("vlan_detach", before - after)):
        vlans = (EntityRef("vlan", label, label, "/v4/networking/vlans") for label in sorted(labels))
        record_events(actor, action, ((instance_ref(instance), vlan, message) for vlan in vlans))


def _forget_unnamed(account_id: int, region_id: str) -> None:
    here = naming().filter(instance__region=OuterRef("region"))
    # an instance that is moving to this region has VLANs here already, and will arrive in any case
    jobs = {"instance__jobs__kind": "migrate_region", "instance__jobs__finished_at": None}
    coming = naming().filter(**jobs).annotate(to=KeyTextTransform("region", F("instance__jobs__data")))
    coming = coming.filter(to=OuterRef("region"))
    unnamed = VLAN.objects.filter(~Exists(here), ~Exists(coming), account=account_id, region=region_id)
    unnamed.exclude(label__in=_restoring(account_id, region_id)).delete()


def _restoring(account_id: int, region_id: str) -> set[str]:
    """Return the VLANs of backups under restore. Their profiles are inserted when the disks they replace are
    gone."""
    jobs = Job.objects.filter(kind="restore", finished_at=None)
    contents = jobs.filter(instance__account=account_id, instance__region=region_id).values_list("data", flat=True)
    return {
        label
        for data in contents
        for profile in data["content"]["profiles"]
        for label in vlans_in(profile["interfaces"])
    }


def _labels(account_id: int, region_id: str) -> set[str]:
    return set(VLAN.objects.filter(account=account_id, region=region_id).values_list("label", flat=True))
