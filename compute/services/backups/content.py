"""The content of a backup as JSON, and the rows that a restore makes of it.

The content is ``{"disks": […], "profiles": […]}``, as in the columns of `Backup`. A restore's job carries a copy,
since the backup may be superseded meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from compute.models import Config, ConfigDevice, Disk, Image, Instance, Kernel
from compute.models.backups import backup_archive
from compute.services.networking.vlans import bring_vlans, vlans_in, vlans_of
from config.db.inserts import draw_keys, insert_together

PROFILE = (
    "label", "kernel_id", "comments", "memory_limit", "run_level", "virt_mode", "root_device", "helpers",
    "interfaces", "rescue",
)  # fmt: skip
"""The columns that a profile shares with its copies."""

Content = Mapping[str, Any]
Keys = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class RestoredRows:
    """The rows that a restore gives an instance, in the order of insertion."""

    disks: list[Disk]
    configs: list[Config]
    devices: list[ConfigDevice]
    image: str | None
    """The image that the first disk was deployed from, if the image still exists."""
    boots: Config | None
    """The profile that was booted last, else the first that is not a rescue's; None if there is no such profile."""

    @property
    def rows(self) -> list[Model]:
        return [*self.disks, *self.configs, *self.devices]


# --- keeping ------------------------------------------------------------------------------------------


def content_of(instance: Instance, disks: list[Disk], backup_id: int) -> dict[str, Any]:
    """The content of a backup: these disks, and the instance's profiles but a rescue's. Volumes are left out."""
    positions = {disk.pk: position for position, disk in enumerate(disks)}
    configs = instance.configs.filter(rescue=False).order_by("pk").prefetch_related("devices")
    return {
        "disks": [_kept(disk, backup_archive(backup_id, position)) for position, disk in enumerate(disks)],
        "profiles": [_profile(config, positions, config.pk == instance.booted_config_id) for config in configs],
    }


def _kept(disk: Disk, archive: str) -> dict[str, Any]:
    """A disk as the content describes it. A swap disk has no archive: its data is not kept."""
    swap = disk.filesystem == Disk.Filesystem.SWAP
    return {
        "label": disk.label,
        "size": disk.size,
        "filesystem": disk.filesystem,
        "image": disk.image_id,
        "archive": None if swap else archive,
        "saved": False,
    }


def _profile(config: Config, positions: dict[int, int], booted: bool) -> dict[str, Any]:
    """A profile, with the positions of the disks in its slots."""
    slots = {
        device.slot: positions[device.disk_id] for device in config.devices.all() if device.disk_id in positions
    }
    return {**{name: getattr(config, name) for name in PROFILE}, "devices": slots, "booted": booted}


# --- restoring ----------------------------------------------------------------------------------------


def draw_row_keys(content: Content) -> dict[str, list[int]]:
    """Draw the keys of all rows that `rows_of` makes. The names of disks derive from their keys."""
    slots = sum(len(profile["devices"]) for profile in content["profiles"])
    return {
        "disks": _draw(Disk, len(content["disks"])),
        "configs": _draw(Config, len(content["profiles"])),
        "devices": _draw(ConfigDevice, slots),
    }


def archives_of(content: Content, keys: Keys) -> dict[int, str | None]:
    """Return the archive from which each disk is made, by the disk's key; None for a disk that is made empty."""
    return {key: kept["archive"] for key, kept in zip(keys["disks"], content["disks"], strict=True)}


def vlans_kept(content: Content) -> set[str]:
    """The labels of the VLANs that the profiles in the content are on."""
    return {label for profile in content["profiles"] for label in vlans_in(profile["interfaces"])}


def rows_of(content: Content, instance: Instance, keys: Keys) -> RestoredRows:
    """Return unsaved rows for the content, under these keys. They name no image or kernel that is gone."""
    wanted = {kept["image"] for kept in content["disks"]} - {None}
    images = set(Image.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    disks = [
        Disk(
            pk=key,
            instance=instance,
            label=kept["label"],
            size=kept["size"],
            filesystem=kept["filesystem"],
            image_id=kept["image"] if kept["image"] in images else None,
        )
        for key, kept in zip(keys["disks"], content["disks"], strict=True)
    ]
    configs = _configs(content, instance, keys)
    slots = [
        (config, slot, disks[position])
        for config, profile in zip(configs, content["profiles"], strict=True)
        for slot, position in profile["devices"].items()
    ]
    devices = [
        ConfigDevice(pk=key, config=config, slot=slot, disk=disk)
        for key, (config, slot, disk) in zip(keys["devices"], slots, strict=True)
    ]
    booted = [config for config, profile in zip(configs, content["profiles"], strict=True) if profile["booted"]]
    first = [config for config in configs if not config.rescue]
    image = disks[0].image_id if disks else None
    return RestoredRows(disks, configs, devices, image, next(iter([*booted, *first]), None))


def insert_rows(content: Content, instance: Instance, keys: Keys) -> RestoredRows:
    """Insert the rows, before the disks themselves are made, and the VLANs that the profiles name."""
    restored = rows_of(content, instance, keys)
    bring_vlans(instance.account_id, instance.region_id, vlans_of(restored.configs))
    if restored.rows:
        insert_together(*restored.rows)
    return restored


def _configs(content: Content, instance: Instance, keys: Keys) -> list[Config]:
    wanted = {profile["kernel_id"] for profile in content["profiles"]}
    kernels = set(Kernel.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    default = Config._meta.get_field("kernel").get_default()
    configs = []
    for key, profile in zip(keys["configs"], content["profiles"], strict=True):
        config = Config(pk=key, instance=instance, **{name: profile[name] for name in PROFILE})
        if config.kernel_id not in kernels:
            config.kernel_id = default
        configs.append(config)
    return configs


def _draw(model: type[Model], count: int) -> list[int]:
    return draw_keys(*[model] * count) if count else []
