"""Backups of instances."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Account
from compute.models.instances import Instance
from regions.models import Region


class Backup(models.Model):
    """A backup: the content of an instance's disks at one time, and the profiles that booted from them.

    `disks` is a list of ``{"label", "size", "filesystem", "image", "archive", "saved"}``: `archive` is the driver's
    name of the content, null for a disk that is not saved (swap), and `saved` whether the archive is there.
    `profiles` are the configuration profiles, whose devices name disks by their position in `disks`, and `configs`
    their labels. `rotation` says which of the kept automatic backups this one is, and `day` the day (UTC) that it
    was taken for; both are null for a snapshot. A backup is deleted with its instance.
    """

    class Type(models.TextChoices):
        AUTOMATIC = "automatic"
        SNAPSHOT = "snapshot"

    class Status(models.TextChoices):
        PAUSED = "paused"
        PENDING = "pending"
        RUNNING = "running"
        NEEDS_POST_PROCESSING = "needsPostProcessing"
        SUCCESSFUL = "successful"
        FAILED = "failed"
        USER_ABORTED = "userAborted"

    class Rotation(models.TextChoices):
        DAILY = "daily"
        WEEKLY = "weekly"
        BIWEEKLY = "biweekly"

    IN_PROGRESS = (Status.PENDING, Status.RUNNING, Status.NEEDS_POST_PROCESSING)
    GIVEN_UP = (Status.FAILED, Status.USER_ABORTED)

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="backups")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    type = models.CharField(max_length=10, choices=Type)
    rotation = models.CharField(max_length=10, choices=Rotation, null=True, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    label = models.CharField(max_length=255, null=True, blank=True)
    configs = ArrayField(models.CharField(max_length=48), default=list, blank=True)
    disks = models.JSONField(default=list)
    profiles = models.JSONField(default=list)
    day = models.DateField(null=True, blank=True)
    message = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("instance",),
                condition=Q(type="snapshot", status__in=["pending", "running", "needsPostProcessing"]),
                name="one_snapshot_in_progress",
            ),
            models.UniqueConstraint(
                fields=("instance", "day"),
                condition=Q(type="automatic") & ~Q(status__in=["failed", "userAborted"]),
                name="one_automatic_a_day",
            ),
        ]

    def __str__(self) -> str:
        return self.label or f"{self.type} backup {self.pk}"

    @property
    def content(self) -> dict[str, Any]:
        """The content from which `compute.services.backups.content` makes rows."""
        return {"disks": self.disks, "profiles": self.profiles}

    @property
    def archives(self) -> list[str]:
        """The driver's names of all archives of the backup, made or to be made."""
        return [disk["archive"] for disk in self.disks if disk["archive"]]

    @property
    def size(self) -> int:
        """The size in MB of the restored disks."""
        return sum(disk["size"] for disk in self.disks)


def backup_archive(backup_id: int, position: int) -> str:
    """The driver's name for the archive of the disk at `position`, known before the disk is saved."""
    return f"skerry-backup-{backup_id}-{position}"
