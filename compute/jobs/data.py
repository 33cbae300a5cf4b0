"""The data of a job: a frozen dataclass, which several kinds may share, stored as JSON in ``Job.data``.

An attribute is stored under its own name without a trailing ``_id``, so that queries read like queries by a foreign
key (``data__host=7``). Attributes at their default are left out. Every record has a version. A worker that cannot
read a record leaves the job to a worker of the release that wrote the record.

Jobs live across an upgrade. So a change that adds an attribute with a default, renames an attribute or changes its
meaning raises the VERSION of the class, and converts earlier versions in `earlier`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

JSON = dict[str, Any]


SIMULATED = "simulated"
"""The driver of data that names none: earlier releases had no other."""


class UnreadableData(Exception):
    """The data of a job was written by another release than this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobData:
    """The data that the engine itself reads, and that jobs of some kinds carry without further fields.

    `config_id` is the profile that the job boots. `off_status` is the status of an instance that is off after the
    job, if it differs from the kind's. The engine writes `undo_reason` when a rollback begins. Staff write
    `given_up` when the job must end without undoing more. `given_up` did not raise the versions: only jobs that
    were given up have it, and a worker of an earlier release cannot read these and leaves them to others.
    """

    VERSION: ClassVar[int] = 1
    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ()
    """The attributes that are dicts keyed by ids; JSON turns these keys into strings."""
    RENAMED: ClassVar[Mapping[str, str]] = {"off": "off_status", "reason": "undo_reason"}
    """The keys of version 0, each with its key in version 1."""

    config_id: int | None = None
    off_status: str | None = None
    undo_reason: str = ""
    given_up: str = ""

    def to_json(self) -> JSON:
        """Return the record in its stored form."""
        stored: JSON = {"version": self.VERSION}
        for name, key, default in _layout(type(self)):
            value = getattr(self, name)
            if value != default:
                stored[key] = value
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the record read from `stored`. Raises `UnreadableData` if version or keys do not fit this
        release."""
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
        """Convert the `values` of `version`, from 1 on, to this one. Raises `UnreadableData` if it is unknown."""
        raise UnreadableData(f"This worker cannot read version {version} of the data of the job.")

    @staticmethod
    def flatten(values: JSON) -> JSON:
        """Return the values of version 0 with a key of its own for each part of a nested value."""
        return values


_LAYOUTS: dict[type[JobData], tuple[tuple[str, str, Any], ...]] = {}


def _layout(cls: type[JobData]) -> tuple[tuple[str, str, Any], ...]:
    """Return each attribute with the key that it is stored under and its default."""
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
    """`running` tells whether the instance must be stopped first."""

    running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionData(JobData):
    """Whether the new instance is booted."""

    boot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneData(JobData):
    """`copies` maps each disk to make to the disk of the source that it copies.

    `source_off_status` is the status of a source that is off after the job.
    """

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
    """A move to another host, to another type, or both. Sizes in MB.

    With a `region_id` the host is in that other region, whose addresses the instance gets; `migration_id` is the
    host migration that the job carries out. The disk with `disk_id` is resized along with the type.
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
    """The old profile, disks and image, and the keys of the new rows, including `config_id` and `disk_ids`."""

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
    """The disk that the job works on; `copy_of` is the disk to copy."""

    disk_id: int
    copy_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskDeleteData(DiskData):
    """`previous_status` is restored if the disk could not be deleted."""

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
    """Flatten a nested ``{"disk": {"id": …, "was": …, "size": …}}`` to a key for each part; drop a None."""
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
    """Backups whose rows are deleted, and their archives, which are still to be deleted."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "backups": "backup_ids"}

    backup_ids: Sequence[int]
    archives: Sequence[str]
    driver: str = SIMULATED
    """The driver that has the archives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupProvisionData(ProvisionData):
    """`archives` maps each disk to make to the archive it is made from, None for an empty disk."""

    KEYED_BY_ID: ClassVar[tuple[str, ...]] = ("archives",)

    backup_id: int
    archives: Mapping[int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreData(JobData):
    """The backup's content and the keys of its new rows; with `overwrite` also the disks and profiles to delete.

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
    """An account's own image, by its number."""

    RENAMED: ClassVar[Mapping[str, str]] = {**JobData.RENAMED, "image": "image_number"}

    image_number: int
    driver: str = SIMULATED
    """The driver that has the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagizeData(ImageData):
    """`disk_id` is the disk that the image is made from.

    `instance_id` is the instance that the job waits for. The job began without an instance, because another job was
    running there.
    """

    VERSION: ClassVar[int] = 3

    disk_id: int
    instance_id: int | None = None

    @classmethod
    def earlier(cls, version: int, values: JSON) -> JSON:
        """Read versions 1 and 2. Version 1 waited for no instance; version 2 did not change the disk's status."""
        return values if version in (1, 2) else JobData.earlier(version, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportData(ImageData):
    """`size` is the size of the unpacked upload in MB. Before version 2, it was measured while the upload was
    received."""

    VERSION: ClassVar[int] = 2

    size: int | None = None

    @classmethod
    def earlier(cls, version: int, values: JSON) -> JSON:
        return values if version == 1 else JobData.earlier(version, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeData(JobData):
    """The volume that the job works on and its region; `copy_of` is the volume to copy.

    Data without a region are of a job on simulated hosts: there were no others when it was written.
    """

    volume_id: int
    region_id: str | None = None
    copy_of: int | None = None
    attach: bool = False
    """Written only by version 1 of `volume_create`: the job is on the instance, and plugs the volume in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterVolumeData(VolumeData):
    """Base for kinds whose version 1 carried a `VolumeData`, and whose later versions have more fields."""

    VERSION: ClassVar[int] = 2

    @classmethod
    def earlier(cls, version: int, values: JSON) -> JSON:
        return values if 1 <= version < cls.VERSION else JobData.earlier(version, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeCreateData(LaterVolumeData):
    """`instance_id` is the instance that the volume is made for."""

    instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeAttachData(LaterVolumeData):
    """If `waits` is set, an earlier job of the volume must end first."""

    waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDetachData(LaterVolumeData):
    """`places` are the profiles, each with its slot, that the volume was removed from when the job was enqueued.

    Jobs of version 1 have None: their volume is shown as attached until the job ends. `instance_id` is set if the
    instance is being deleted. The job then runs without an instance.
    """

    VERSION: ClassVar[int] = 3

    places: Sequence[tuple[int, str]] | None = None
    instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDeleteData(LaterVolumeData):
    """`instance_id` is the instance that the volume was being detached from when it was deleted."""

    instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeResizeData(VolumeData):
    """The new size in GB."""

    size: int


# --- hosts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HostObjectData(JobData):
    """An object on a host that a `compute.models.Drift` is about, by its `name` on the host.

    `kind` is the drift's kind. The step checks by it whether the object may still be set aside or deleted. If the
    object is a disk, `machine` is the name of the machine that has it.
    """

    host_id: int
    kind: str
    name: str
    machine: str = ""
