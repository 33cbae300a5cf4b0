"""What jobs carry besides a word for their kind: a frozen record for each, stored as JSON in ``Job.data``.

An attribute is stored under its name; one that ends in ``_id`` without that, so that queries read like those by a
foreign key (``data__host=7``). What equals its default is left out. Every record has a version, so that a worker
leaves what it cannot read to one of the release that wrote it. Who adds an attribute with a default, renames one or
changes its meaning raises the VERSION of the class and says in `earlier` how the ones before are read: jobs live
across an upgrade.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

JSON = dict[str, Any]


class UnreadableData(Exception):
    """What a job carries was written by another release than this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobData:
    """What the engine itself reads, and all that a job of some kinds carries.

    `config_id` is the profile that the job boots, `off_status` what the instance shows afterwards if it is off,
    where that is not what the kind says. The engine writes `undo_reason` when a job turns round.
    """

    VERSION: ClassVar[int] = 1
    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ()
    """The attributes that are dicts with ids as keys, which JSON makes strings of."""
    RENAMED: ClassVar[Mapping[str, str]] = {"off": "off_status", "reason": "undo_reason"}
    """Keys of version 0, each with that of version 1."""

    config_id: int | None = None
    off_status: str | None = None
    undo_reason: str = ""

    def to_json(self) -> JSON:
        """The record as it is stored."""
        stored: JSON = {"version": self.VERSION}
        for name, key, default in _layout(type(self)):
            value = getattr(self, name)
            if value != default:
                stored[key] = value
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The record that was stored. Raises `UnreadableData` where this release does not know what it reads."""
        values = dict(stored)
        version = values.pop("version", 0)
        if version == 0:
            version, values = 1, {cls.RENAMED.get(key, key): value for key, value in cls.flatten(values).items()}
        if version != cls.VERSION:
            values = cls.earlier(version, values)
        names = {key: name for name, key, _ in _layout(cls)}
        named = {names.get(key, key): value for key, value in values.items()}
        try:
            for name in cls.KEYED_BY_ID:
                named[name] = {int(key): value for key, value in named[name].items()}
            return cls(**named)
        except (KeyError, TypeError) as error:
            raise UnreadableData(f"This worker cannot read the data of the job: {error}") from error

    @classmethod
    def earlier(cls, version: int, values: JSON) -> JSON:
        """The values of a version from 1 on as this one has them. Raises `UnreadableData` for any other."""
        raise UnreadableData(f"This worker cannot read version {version} of the data of the job.")

    @staticmethod
    def flatten(values: JSON) -> JSON:
        """Values of version 0 without nested ones whose parts have keys of their own since."""
        return values


_LAYOUTS: dict[type[JobData], tuple[tuple[str, str, Any], ...]] = {}


def _layout(cls: type[JobData]) -> tuple[tuple[str, str, Any], ...]:
    """Each attribute with the key that it is stored under and its default."""
    if cls not in _LAYOUTS:
        _LAYOUTS[cls] = tuple((field.name, field.name.removesuffix("_id"), field.default) for field in fields(cls))
    return _LAYOUTS[cls]


# --- instances ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BootData(JobData):
    """The profile to boot, chosen when the job was enqueued."""

    config_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueData(BootData):
    """`running` is whether the instance has to be stopped first."""

    running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionData(JobData):
    """Whether the new instance is booted."""

    boot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneData(JobData):
    """Each disk to make with the one of the source that it copies, and what the source shows afterwards if off."""

    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ("copies",)
    RENAMED: ClassVar[Mapping[str, str]] = {
        **JobData.RENAMED,
        "configs": "config_ids",
        "source_off": "source_off_status",
    }

    copies: Mapping[int, int]
    config_ids: Sequence[int]
    source_off_status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveData(JobData):
    """A move to a host and a type, of which one may be the present one. Sizes in MB.

    With a `region_id` it is one of another region, whose addresses follow; `migration_id` is the host migration
    that is carried out. The disk with `disk_id` is resized along with the type.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "from": "previous_host", "was": "previous_type"}

    running: bool
    previous_host_id: int
    host_id: int
    previous_type_id: str
    type_id: str
    migration_id: int | None = None
    region_id: str | None = None
    ipv4: Sequence[str] | None = None
    ipv6: str | None = None
    disk_id: int | None = None
    disk_size: int = 0
    previous_disk_size: int = 0

    @staticmethod
    def flatten(values: JSON) -> JSON:
        return _with_flat_disk(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildData(JobData):
    """What there was, and the keys of what comes in its place: `config_id` and `disk_ids` are among `row_keys`."""

    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ("previous_disk_statuses",)
    RENAMED: ClassVar[Mapping[str, str]] = {
        **JobData.RENAMED,
        "booted": "previous_config",
        "old": "previous_disk_statuses",
        "image_was": "previous_image",
        "keys": "row_keys",
        "disks": "disk_ids",
    }

    running: bool
    stopped: bool
    boot: bool
    previous_config_id: int | None = None
    previous_disk_statuses: Mapping[int, str]
    previous_image_id: str | None = None
    image_id: str
    script_id: int | None = None
    row_keys: Sequence[int]
    config_id: int
    disk_ids: Sequence[int]


# --- disks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskData(JobData):
    """The disk that is worked on; `copy_of` is the one that it is to be a copy of."""

    disk_id: int
    copy_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskDeleteData(DiskData):
    """`previous_status` is what the disk shows again where it could not be deleted."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "was": "previous_status"}

    previous_status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskResizeData(DiskData):
    """Sizes in MB."""

    disk_size: int
    previous_disk_size: int

    @staticmethod
    def flatten(values: JSON) -> JSON:
        return _with_flat_disk(values)


def _with_flat_disk(values: JSON) -> JSON:
    """What was ``{"disk": {"id": …, "was": …, "size": …}}``, or None there, with a key for each."""
    disk = values.pop("disk", None)
    if disk is None:
        return values
    return {**values, "disk": disk["id"], "disk_size": disk["size"], "previous_disk_size": disk["was"]}


# --- backups --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupData(JobData):
    """The backup to make, and the disks at its positions."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "disks": "disk_ids"}

    backup_id: int
    disk_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupsDeleteData(JobData):
    """Backups whose rows are gone, and all that is kept of them."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "backups": "backup_ids"}

    backup_ids: Sequence[int]
    archives: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupProvisionData(ProvisionData):
    """For each disk to make what it is made of, None for an empty one."""

    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ("archives",)

    backup_id: int
    archives: Mapping[int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreData(JobData):
    """What is restored, as the backup held it, and under which keys; with `overwrite` also what has to go.

    For `content` and `part_keys` see `compute.services.backups.content`.
    """

    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ("archives",)
    RENAMED: ClassVar[Mapping[str, str]] = {
        **JobData.RENAMED,
        "keys": "part_keys",
        "booted": "previous_config",
        "old": "previous_disk_ids",
        "old_configs": "previous_config_ids",
    }

    backup_id: int
    content: Mapping[str, Any]
    part_keys: Mapping[str, Sequence[int]]
    archives: Mapping[int, str | None]
    overwrite: bool
    running: bool = False
    previous_config_id: int | None = None
    previous_disk_ids: Sequence[int] = ()
    previous_config_ids: Sequence[int] = ()


# --- images and volumes ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageData(JobData):
    """An image of an account's own, by its number."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "image": "image_number"}

    image_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagizeData(ImageData):
    """The disk to make it of."""

    disk_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportData(ImageData):
    """How many MB the upload unpacks to."""

    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeData(JobData):
    """The volume that is worked on; `copy_of` is the one that it copies. With `attach` it is also plugged in."""

    volume_id: int
    copy_of: int | None = None
    attach: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeResizeData(VolumeData):
    """The new size in GB."""

    size: int
