"""An instance with all of its parts, for tests of their pages."""

from html import unescape
from typing import Any

from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from accounts.models import Account, Event
from compute.models import (
    Address,
    AddressPool,
    Backup,
    Firewall,
    FirewallDevice,
    Instance,
    IPv6Range,
    Job,
    VolumeDevice,
)
from compute.pages.networking.firewalls.presets import PRESETS
from tests.factories import (
    AddressPoolFactory,
    ConfigFactory,
    DiskFactory,
    FirewallFactory,
    InstanceFactory,
    VolumeFactory,
)

PARTS = ("instance-storage", "instance-configs", "instance-backups", "instance-network")


def instance_with_parts(account: Account, **fields: Any) -> Instance:
    """Return a settled instance with a disk, a profile, a volume, backups, two addresses, a range and a
    firewall."""
    instance = InstanceFactory(account=account, backups_enabled=True, ipv6="2001:db8:77::1/128", **fields)
    add_parts(instance)
    return instance


def add_parts(instance: Instance) -> None:
    """Give the instance one more of each part. Sizes in MB."""
    account, region = instance.account, instance.region
    disk = DiskFactory(instance=instance, label="root")
    config = ConfigFactory(instance=instance, label="default", disk=disk)
    config.interfaces = [{"purpose": "vlan", "label": "backend", "ipam_address": "10.0.0.1/24"}]
    config.save()
    VolumeDevice.objects.create(config=config, slot="sdb", volume=VolumeFactory(account=account, instance=instance))
    backup_of(instance)
    pool = AddressPoolFactory(region=region, addresses=2)
    Address.objects.filter(pool=pool).update(instance=instance)
    instance.ipv4 = list(instance.addresses.values_list("address", flat=True))
    instance.save(update_fields=["ipv4"])
    routed = AddressPool.objects.create(
        region=region, kind="routed", network=f"2001:db8:{pool.pk:x}::/48", gateway="fe80::1"
    )
    IPv6Range.objects.create(
        account=account, region=region, pool=routed, range=f"2001:db8:{pool.pk:x}::", prefix=64, instance=instance
    )
    there = FirewallDevice.objects.filter(instance=instance).exists()
    FirewallFactory(
        account=account, on=instance, status=Firewall.Status.DISABLED if there else Firewall.Status.ENABLED
    )


def firewall_of(instance: Instance) -> Firewall:
    """Give the instance's first firewall rules, and return the firewall."""
    firewall = instance.firewall_devices.earliest("pk").firewall
    accepted = [preset.rule() for preset in PRESETS.values()]
    rule = {"action": "DROP", "protocol": "UDP", "addresses": {"ipv4": ["192.0.2.0/24"]}, "description": "Noise"}
    firewall.rules = {**firewall.rules, "inbound": accepted, "inbound_policy": "DROP", "outbound": [rule]}
    firewall.save()
    return firewall


def backup_of(instance: Instance, **fields: Any) -> Backup:
    """Create a complete snapshot."""
    disks = [{"label": "root", "size": 1000, "filesystem": "ext4", "image": None, "archive": "a", "saved": True}]
    given = {"type": "snapshot", "label": "before the upgrade", "status": "successful", "disks": disks}
    return Backup.objects.create(
        instance=instance,
        account=instance.account,
        region=instance.region,
        configs=["default"],
        **{**given, **fields},
    )


def address_of(page: str, instance: Instance, *args: Any) -> str:
    return reverse(page, args=[instance.pk, *args])


def path_values(instance: Instance) -> dict[str, Any]:
    """Return the parameters of all paths below ``/home/instances/<id>/``, for the first part of each kind."""
    return {
        "disk": instance.disks.first().pk,
        "config": instance.configs.first().pk,
        "volume": instance.volumes.first().pk,
        "backup": instance.backups.first().pk,
        "address": instance.addresses.first().address,
        "range": instance.ipv6_ranges.first().pk,
        "device": instance.firewall_devices.first().pk,
    }


def begin_job(instance: Instance) -> None:
    """Make the instance busy."""
    Job.objects.create(instance=instance, kind="boot", step="start", deadline_at=Now())


def events(instance: Instance) -> list[str]:
    """Return the actions of the account's events, in order."""
    return list(Event.objects.filter(account=instance.account_id).order_by("pk").values_list("action", flat=True))


def text(answer: Any) -> str:
    return unescape(answer.content.decode())


def send(browser: Client, page: str, instance: Instance, *args: Any, **fields: Any) -> Any:
    """Send a form and follow the answer."""
    return browser.post(address_of(page, instance, *args), fields, follow=True)


def job_of(instance: Instance) -> Job:
    return Job.objects.get(instance=instance, finished_at=None)
