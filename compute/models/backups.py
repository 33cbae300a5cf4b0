"""Backups of instances."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Account
from compute.models.instances import Instance
from regions.models import Region


class Backup(models.Model):
    """What the disks of an instance held at one time, and the profiles that booted from them.

    `disks` is a list of ``{"label", "size", "filesystem", "image", "archive", "saved"}``, `archive` being the
    driver's name of the content, null for what is not kept (swap), and `saved` whether it is there; `profiles` what
    the configs were, devices naming disks by their position in `disks`; `configs` their labels. `rotation` is which
    of the kept automatic ones this is, and `day` the day (UTC) that it was taken for; both null for a snapshot. A
    backup ends with its instance.
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
        """What it holds, as `compute.services.backups.content` makes rows of it."""
        return {"disks": self.disks, "profiles": self.profiles}

    @property
    def archives(self) -> list[str]:
        """The driver's names of all that is kept, or was to be."""
        return [disk["archive"] for disk in self.disks if disk["archive"]]

    @property
    def size(self) -> int:
        """MB that its disks need where it is restored."""
        return sum(disk["size"] for disk in self.disks)


def backup_archive(backup_id: int, position: int) -> str:
    """The driver's name for what the disk at `position` held, known before it is saved."""
    return f"skerry-backup-{backup_id}-{position}"
