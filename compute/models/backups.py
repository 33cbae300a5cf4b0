"""Backups of instances."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Account
from compute.models.instances import Instance
from regions.models import Region


class Backup(models.Model):
    """What the disks of an instance held at one time, and the profiles that booted from them.

    `disks` is a list of ``{"label", "size", "filesystem", "image", "archive"}``, `archive` being the driver's name
    of the content, null for what is not kept (swap); `profiles` what the configs were, devices naming disks by
    their position in `disks`; `configs` their labels. `rotation` is which of the kept automatic ones this is, null
    for a snapshot. A backup ends with its instance.
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
        ]

    def __str__(self):
        return self.label or f"{self.type} backup {self.pk}"
