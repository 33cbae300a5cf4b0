"""Hosts: the machines that instances run on, and the reservations of instances there."""

import uuid

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from regions.models import Region


class Host(models.Model):
    """A hypervisor machine in a region. Staff manage the rows; placement picks an `enabled` one with enough free.

    Memory and disk in MB. `*_used` is the sum of the host's reservations, kept on the row so that taking some is
    one conditional UPDATE; the CHECK stands behind it. While `maintenance` is set, the host's instances are
    ``stopped``. `compute.services.hosts.reachability` records whether the host answers, only when that changes.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    label = models.CharField(max_length=64, unique=True)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="hosts")
    enabled = models.BooleanField(default=True, help_text="Takes new instances.")
    maintenance = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when its instances are kept stopped."
    )
    memory = models.PositiveIntegerField(default=4 * 1024 * 1024, help_text="MB for instances.")
    vcpus = models.PositiveIntegerField(default=4096, help_text="Virtual cores for instances.")
    disk = models.PositiveIntegerField(default=256 * 1024 * 1024, help_text="MB for instances.")
    memory_used = models.PositiveIntegerField(default=0, editable=False)
    vcpus_used = models.PositiveIntegerField(default=0, editable=False)
    disk_used = models.PositiveIntegerField(default=0, editable=False)
    unreachable_since = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when it has not answered; null while it does."
    )
    unreachable_error = models.TextField(blank=True, default="", db_default="", editable=False)
    reachable_since = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When it last answered again; null where it always did."
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(condition=Q(memory_used__lte=F("memory")), name="host_memory"),
            models.CheckConstraint(condition=Q(vcpus_used__lte=F("vcpus")), name="host_vcpus"),
            models.CheckConstraint(condition=Q(disk_used__lte=F("disk")), name="host_disk"),
        ]

    def __str__(self) -> str:
        return self.label


class Reservation(models.Model):
    """The capacity that an instance takes of a host; of two while it moves.

    Written by `compute.services.hosts.placement` alone.
    """

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="reservations")
    instance = models.ForeignKey("compute.Instance", on_delete=models.CASCADE, related_name="reservations")
    memory = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    vcpus = models.PositiveIntegerField()
    disk = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("instance", "host"), name="one_reservation_per_host"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id} on {self.host_id}"


class HostMigration(models.Model):
    """A move of an instance to another host of its region, which staff scheduled.

    The customer may start it earlier (``migrate`` without a region); the platform starts it at `when`. Shown in
    ``/account/notifications`` and ``/account/maintenance`` until it is over.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        STARTED = "started"
        DONE = "done"
        CANCELLED = "cancelled"

    instance = models.ForeignKey("compute.Instance", on_delete=models.CASCADE, related_name="host_migrations")
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    reason = models.TextField(blank=True)
    when = models.DateTimeField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("when", "id")
        constraints = [
            models.UniqueConstraint(
                fields=("instance",),
                condition=Q(status__in=["pending", "started"]),
                name="one_host_migration",
                violation_error_message="A migration of this compute is scheduled already.",
            ),
        ]
        indexes = [
            models.Index(fields=("when",), condition=Q(status="pending"), name="host_migration_due"),
        ]

    def __str__(self) -> str:
        return f"migration of {self.instance_id} at {self.when:%Y-%m-%d %H:%M}"
