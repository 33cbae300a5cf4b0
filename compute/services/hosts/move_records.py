"""Recording that a moving instance has arrived, or that it stays where it was.

Both functions run in the transaction that settles the job, and may run twice. Hosts' rows are locked last.
"""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from compute import listeners
from compute.jobs.data import MoveData
from compute.models import (
    Address,
    AddressShare,
    Disk,
    Host,
    HostMigration,
    Instance,
    InstanceType,
    IPv6Range,
    RangeShare,
)
from compute.services.hosts.placement import settle
from compute.services.networking.addresses import release
from compute.services.usage.recording import record

TRY_AGAIN = timedelta(hours=1)
"""The delay after which a failed host migration is tried again."""


def arrive(instance: Instance, data: MoveData) -> None:
    """Put the instance on its new host, with its new type, and in another region with its new addresses.

    `data` is the job's. The instance's reservation on the old host is released.
    """
    host = Host.objects.get(pk=data.host_id)
    plan = InstanceType.objects.get(pk=data.type_id)
    changes: dict[str, Any] = {"host": host, "type": plan}
    if data.region_id:
        changes |= {"region_id": data.region_id, "ipv4": data.ipv4, "ipv6": data.ipv6}
    Instance.objects.filter(pk=instance.pk).update(**changes, updated=Now())
    left = _leave(instance, data.region_id) if data.region_id else []
    if data.disk_id is not None:
        # resized along with the type
        Disk.objects.filter(pk=data.disk_id, instance=instance).update(size=data.disk_size, updated=Now())
    _scheduled(data).update(status=HostMigration.Status.DONE)
    settle(instance, host, plan)
    record(instance.account_id, addresses=bool(data.region_id), check=False, instances=[instance.pk], ranges=left)


def stay(instance: Instance, data: MoveData) -> None:
    """Release the other host's capacity and the other region's addresses. A host migration is tried again later."""
    if data.region_id:
        release(Address.objects.filter(instance=instance, region_id=data.region_id))
    started = _scheduled(data).filter(status=HostMigration.Status.STARTED)
    started.update(status=HostMigration.Status.PENDING, when=Now() + TRY_AGAIN)
    settle(instance, Host.objects.get(pk=data.previous_host_id), InstanceType.objects.get(pk=data.previous_type_id))
    record(instance.account_id, check=False, instances=[instance.pk])


def _leave(instance: Instance, region_id: str) -> list[int]:
    """Release the addresses and ranges of the region that the instance has left, which no longer route to it.

    Returns the keys of the ranges.
    """
    AddressShare.objects.filter(instance=instance).delete()
    RangeShare.objects.filter(instance=instance).delete()
    release(Address.objects.filter(instance=instance).exclude(region_id=region_id))
    ranges = IPv6Range.objects.filter(instance=instance).exclude(region_id=region_id)
    left = list(ranges.values_list("pk", flat=True))
    ranges.delete()
    listeners.addresses_changed([instance.pk])
    return left


def _scheduled(data: MoveData) -> QuerySet[HostMigration]:
    """The host migration that the job carries out, if any."""
    if not data.migration_id:
        return HostMigration.objects.none()
    return HostMigration.objects.filter(pk=data.migration_id)
