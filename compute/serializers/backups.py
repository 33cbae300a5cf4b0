"""Serializers of backups, and the bodies of snapshots and restores."""

from datetime import datetime
from typing import Any

from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from compute.models import Backup, Disk
from compute.serializers.disks import FILESYSTEMS_MEAN
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.rendering import parsed
from config.api.serializers import Resource


def is_available(status: str, maintenance: datetime | None) -> bool:
    """Tell whether the backup is complete and its instance's host is not under maintenance."""
    return bool(status == Backup.Status.SUCCESSFUL) and maintenance is None


def disks_shown(disks: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a backup's disks as clients see them, without the places of their content."""
    return [{name: disk[name] for name in ("label", "size", "filesystem")} for disk in parsed(disks)]


class BackupDisk(Resource):
    """A disk as it was when the backup was taken; `size` in MB."""

    label = CharField(help_text="The disk's label.")
    size = IntegerField(help_text="MB.")
    filesystem = ChoiceField(
        Disk.Filesystem.choices, help_text=Meanings("The content of the disk.", FILESYSTEMS_MEAN)
    )


class BackupResource(Resource):
    """A backup: the disks and profiles of an instance at one time."""

    id = IntegerField(read_only=True)
    type = ChoiceField(
        Backup.Type.choices,
        read_only=True,
        help_text=Meanings(
            "The origin of the backup.",
            {
                "automatic": "The schedule created the backup.",
                "snapshot": "`POST …/backups` created the backup.",
            },
        ),
    )
    status = ChoiceField(
        Backup.Status.choices,
        read_only=True,
        help_text=Meanings(
            "The status of the backup.",
            {
                "paused": "Not shown by this platform.",
                "pending": "The backup is queued.",
                "running": "The backup is in progress.",
                "needsPostProcessing": "The content is copied and is being stored.",
                "successful": "The backup is complete.",
                "failed": "The backup failed.",
                "userAborted": "The backup was cancelled.",
            },
        ),
    )
    available = Computed(
        BooleanField(),
        is_available,
        "status",
        "instance__host__maintenance",
        help_text="Whether the backup can be restored. False while the host of its instance is under maintenance.",
    )
    label = CharField(
        read_only=True, allow_null=True, help_text="The name of a snapshot. Null for automatic backups."
    )
    region = CharField(source="region_id", read_only=True)
    configs = ListField(
        child=CharField(), read_only=True, help_text="The labels of the configuration profiles in the backup."
    )
    disks = Computed(BackupDisk(many=True), disks_shown, "disks", help_text="The disks in the backup.")
    created = DateTimeField(read_only=True, help_text="The time at which the backup began, in UTC.")
    updated = DateTimeField(read_only=True)
    finished = DateTimeField(
        read_only=True, allow_null=True, help_text="The time at which the backup was complete, in UTC. Null before."
    )


class Snapshots(Resource):
    """The snapshots of an instance."""

    current = BackupResource(
        read_only=True, allow_null=True, help_text="The complete snapshot. Null if there is none."
    )
    in_progress = BackupResource(
        read_only=True,
        allow_null=True,
        help_text="The snapshot that is in progress. It will replace the complete one. Null if there is none.",
    )


class BackupListing(Resource):
    """The automatic backups of an instance, its snapshot, and the snapshot that is being made."""

    automatic = BackupResource(
        many=True,
        read_only=True,
        help_text="The automatic backups, oldest first: the last daily, weekly and biweekly ones.",
    )
    snapshot = Snapshots(read_only=True, help_text="The snapshots that users requested.")


def shown(backup: Backup | None) -> dict[str, Any] | None:
    return None if backup is None else BackupResource(backup).data


class SnapshotRequest(Resource):
    """The body of a snapshot."""

    label = CharField(min_length=1, max_length=255, help_text="A name for the snapshot, up to 255 characters.")


class RestoreRequest(Resource):
    """The body of a restore to the instance `compute_id`. With `overwrite`, its disks and profiles are deleted
    first."""

    compute_id = IdField(
        help_text="The target of the restore: the instance of the backup, or another instance in the same region."
    )
    overwrite = BooleanField(
        default=False,
        help_text="Whether all disks and profiles of the target are deleted first. By default false: then "
        "the target needs enough free disk space.",
    )
