"""Drift: differences between a host and the platform's rows."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from compute.models.hosts import Host
from compute.models.instances import Disk, Instance
from compute.models.jobs import Job
from compute.models.volumes import Volume


class Drift(models.Model):
    """One difference between a host and the rows, from the first check that found it until a check that did not.

    Only `compute.services.hosts.drift_records` writes rows. A finding is confirmed when two checks in a row found
    it. Nothing is repaired, and no verb offered, before that. docs/reconciling.md lists the repair for each kind.
    """

    class Kind(models.TextChoices):
        UNKNOWN_MACHINE = "unknown_machine"
        UNKNOWN_DISK = "unknown_disk"
        UNKNOWN_VOLUME = "unknown_volume"
        MISSING_MACHINE = "missing_machine"
        MISSING_DISK = "missing_disk"
        MISSING_VOLUME = "missing_volume"
        WRONG_POWER = "wrong_power"
        WRONG_HOST = "wrong_host"
        WRONG_SIZE = "wrong_size"
        SHELL = "shell"
        LEFTOVER = "leftover"
        SET_ASIDE = "set_aside"

    CONFIRMED = 2
    """The number of checks in a row that must find a difference before it is repaired."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="drift")
    kind = models.CharField(max_length=16, choices=Kind)
    name = models.CharField(max_length=255, help_text="The name of the machine, disk, volume or file on the host.")
    instance = models.ForeignKey(Instance, null=True, on_delete=models.SET_NULL, related_name="drift")
    disk = models.ForeignKey(Disk, null=True, on_delete=models.SET_NULL, related_name="+")
    volume = models.ForeignKey(Volume, null=True, on_delete=models.SET_NULL, related_name="+")
    job = models.ForeignKey(
        Job,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The last job that tried to resolve the difference.",
    )
    detail = models.TextField(blank=True)
    seen = models.PositiveIntegerField(
        default=1, db_default=1, help_text="The number of comparisons in a row that found the difference."
    )
    first_seen = models.DateTimeField(db_default=Now())
    last_seen = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True, blank=True)
    outcome = models.TextField(
        blank=True, default="", db_default="", help_text="The way in which the difference was resolved."
    )

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "drift"
        constraints = [
            models.UniqueConstraint(
                fields=("host", "kind", "name"), condition=Q(resolved_at=None), name="one_open_drift"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display().lower()} {self.name}"
