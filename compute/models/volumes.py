"""Volumes: block storage that instances attach and that outlives them."""

import re

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from accounts.models import Account, GrantedQuerySet
from compute.models.instances import Config, Instance
from regions.models import Region

_VOLUME = re.compile(r"skerry-volume-([1-9][0-9]{0,17})")


def volume_name(volume_id: int) -> str:
    """The driver's name for a volume."""
    return f"skerry-volume-{volume_id}"


def volume_of(name: str) -> int | None:
    """Return the key in a volume's name; None if the name is not one of ours. The volume may not exist."""
    found = _VOLUME.fullmatch(name)
    return None if found is None else int(found[1])


class VolumeQuerySet(GrantedQuerySet):
    entity_type = "volume"


class Volume(models.Model):
    """Storage that outlives the instances it is attached to. `size` is in GB.

    Only the instance in `instance` can have the volume in its profiles and plugged in. `tags` repeat other rows for
    lists and filters. The services that write those rows write `tags` too.
    """

    class Status(models.TextChoices):
        CREATING = "creating"
        ACTIVE = "active"
        RESIZING = "resizing"

    class Hardware(models.TextChoices):
        HDD = "hdd", "HDD"
        NVME = "nvme", "NVMe"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="volumes")
    label = models.CharField(max_length=32)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    size = models.PositiveIntegerField(default=20)
    status = models.CharField(max_length=10, choices=Status, default=Status.CREATING)
    hardware_type = models.CharField(max_length=4, choices=Hardware, default=Hardware.NVME)
    instance = models.ForeignKey(Instance, null=True, blank=True, on_delete=models.SET_NULL, related_name="volumes")
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = VolumeQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="volume_label",
                violation_error_message="Label must be unique among your volumes",
                violation_error_code="label",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["creating", "active", "resizing"]), name="volume_status"
            ),
        ]
        indexes = [
            models.Index(fields=("account", "id"), name="volume_page"),
            GinIndex(fields=("tags",), name="volume_tags"),
        ]

    def __str__(self) -> str:
        return self.label


class VolumeDevice(models.Model):
    """A volume in a slot of a configuration profile of the instance that it is attached to."""

    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="volume_devices")
    slot = models.CharField(max_length=3)
    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, related_name="devices")

    class Meta:
        ordering = ("slot",)
        constraints = [
            models.UniqueConstraint(fields=("config", "slot"), name="one_volume_per_slot"),
            models.UniqueConstraint(fields=("config", "volume"), name="volume_once_per_config"),
        ]

    def __str__(self) -> str:
        return f"{self.slot}: {self.volume}"
