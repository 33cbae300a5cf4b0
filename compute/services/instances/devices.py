"""The devices in the slots of a configuration profile: disks of its instance, and volumes of its account."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.actors import Actor
from compute.models import Config, ConfigDevice, Disk, Instance, Volume, VolumeDevice
from compute.services.volumes.attachments import ATTACHED_ELSEWHERE, attach_named
from config.errors import Denied, Problems

DeviceMap = Mapping[str, Mapping[str, int | None] | None]
"""A map from slots (``sda``) to ``disk_id`` or ``volume_id``. A slot with None, or a missing slot, is empty."""


@dataclass(frozen=True, slots=True)
class Devices:
    """The keys of disks and of volumes, by slot. `unattached` are the volumes among them that are attached
    nowhere."""

    disks: dict[str, int] = field(default_factory=dict)
    volumes: dict[str, int] = field(default_factory=dict)
    unattached: frozenset[int] = field(default=frozenset(), compare=False)


def devices_of(config: Config) -> Devices:
    """Return the devices that are in the profile's slots now."""
    disks = ConfigDevice.objects.filter(config=config).values_list("slot", "disk_id")
    volumes = VolumeDevice.objects.filter(config=config).values_list("slot", "volume_id")
    return Devices(dict(disks), dict(volumes))


def check_devices(
    actor: Actor, instance: Instance, wanted: DeviceMap, problems: Problems, present: Devices | None = None
) -> Devices:
    """Check a whole map of devices, and return it by kind; valid only without problems.

    Problems are noted under ``devices.sda.disk_id`` and the like. A disk must be of this instance. A volume must be
    one that the actor may change, in the instance's region and attached to no other instance. Volumes that are
    already `present` in the profile are accepted unchecked. No device may be used twice.

    The caller has locked the instance's row. Disks and volumes are locked here, so that they still exist when the
    slots are written. Raises `Denied` on a volume that the actor may only read. The caller does not attach
    `unattached` volumes to an instance that moves.
    """
    filled = {slot: device for slot, device in wanted.items() if device is not None}
    named = {slot: (device.get("disk_id"), device.get("volume_id")) for slot, device in filled.items()}
    for slot, (disk, volume) in named.items():
        if (disk is None) == (volume is None):
            problems.add(f"devices.{slot}", "Exactly one of disk_id and volume_id is needed.")
    disks = {slot: disk for slot, (disk, volume) in named.items() if disk is not None and volume is None}
    volumes = {slot: volume for slot, (disk, volume) in named.items() if volume is not None and disk is None}
    kept = set(present.volumes.values()) if present else set()
    _check_each(disks, _disks(instance, disks), "disk_id", problems)
    known, unattached = _volumes(actor, instance, volumes, kept, problems)
    _check_each(volumes, known, "volume_id", problems)
    return Devices(disks, volumes, unattached)


def write_devices(actor: Actor, config: Config, devices: Devices) -> None:
    """Fill the profile's slots with exactly these devices, and attach the volumes that are attached nowhere."""
    ConfigDevice.objects.filter(config=config).delete()
    VolumeDevice.objects.filter(config=config).delete()
    ConfigDevice.objects.bulk_create(
        ConfigDevice(config=config, slot=slot, disk_id=disk) for slot, disk in devices.disks.items()
    )
    VolumeDevice.objects.bulk_create(
        VolumeDevice(config=config, slot=slot, volume_id=volume) for slot, volume in devices.volumes.items()
    )
    attach_named(actor, config.instance, devices.volumes.values())


def _check_each(named: dict[str, int], known: set[int], name: str, problems: Problems) -> None:
    seen: dict[int, str] = {}
    for slot, pk in named.items():
        if pk not in known:
            problems.add(f"devices.{slot}.{name}", f"devices.{slot}.{name} is not valid")
        elif pk in seen:
            problems.add(f"devices.{slot}.{name}", f"The slot {seen[pk]} already has it.")
        seen.setdefault(pk, slot)


def _disks(instance: Instance, named: dict[str, int]) -> set[int]:
    """Lock the named disks that belong to the instance and are not being deleted, and return their keys."""
    if not named:
        return set()
    rows = Disk.objects.filter(instance=instance, pk__in=set(named.values())).exclude(status=Disk.Status.DELETING)
    return {disk.pk for disk in rows.order_by("pk").select_for_update(no_key=True)}


def _volumes(
    actor: Actor, instance: Instance, named: dict[str, int], kept: set[int], problems: Problems
) -> tuple[set[int], frozenset[int]]:
    """Lock the named volumes that the actor sees or that the profile has already. Return their keys, and the keys
    of those that are attached nowhere."""
    if not named:
        return set(), frozenset()
    wanted = set(named.values())
    rows = Volume.objects.filter(account=instance.account_id, pk__in=wanted)
    locked = {volume.pk: volume for volume in rows.order_by("pk").select_for_update(no_key=True)}
    visible = set(Volume.objects.visible_to(actor).filter(pk__in=wanted).values_list("pk", flat=True))
    writable = set(Volume.objects.writable_by(actor).filter(pk__in=wanted).values_list("pk", flat=True))
    for slot, pk in named.items():
        if pk in kept or pk not in locked or pk not in visible:
            continue
        where = f"devices.{slot}.volume_id"
        if pk not in writable:
            raise Denied(field=where)
        if locked[pk].region_id != instance.region_id:
            problems.add(where, "The volume is in another region.")
        elif locked[pk].instance_id not in (None, instance.pk):
            problems.add(where, ATTACHED_ELSEWHERE)
    known = (visible | kept) & locked.keys()
    return known, frozenset(pk for pk in known - kept if locked[pk].instance_id is None)
