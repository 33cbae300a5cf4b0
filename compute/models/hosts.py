"""Hosts: the machines that instances run on, and the reservations of instances there."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from config.encryption import EncryptedField
from regions.models import Region


class Host(models.Model):
    """A hypervisor machine in a region. Staff manage the rows; placement picks an `enabled` one with enough free
    capacity.

    All hosts of a region have the same `driver`: instances move between them, and all of them can reach the
    volumes.

    Memory and disk are in MB. `*_used` is the sum of the host's reservations, kept on the row so that a reservation
    is one conditional UPDATE; a CHECK constraint protects it. While `maintenance` is set, the host's instances are
    ``stopped``. `compute.services.hosts.reachability` records whether the host answers, only when that changes.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    label = models.CharField(max_length=64, unique=True)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="hosts")
    driver = models.CharField(
        max_length=32, default="simulated", db_default="simulated",
        help_text="The driver of the host: simulated, or another name in the setting DRIVERS.",
    )  # fmt: skip
    location = models.CharField(
        max_length=255, blank=True, default="", db_default="",
        help_text="The address at which the driver reaches the host, and the directory on the host.",
    )  # fmt: skip
    shared = models.CharField(
        max_length=255, blank=True, default="", db_default="",
        help_text="The directory for volumes, which all hosts of the region share. Empty: no volumes on this host.",
    )  # fmt: skip
    host_key = models.TextField(
        blank=True, default="", db_default="", editable=False,
        help_text="The SSH host key of a host that is reached by SSH.",
    )  # fmt: skip
    underlay = models.GenericIPAddressField(
        protocol="IPv4", null=True, blank=True,
        help_text="The IPv4 address for traffic to the region's hosts. Empty: private network and VLANs end here.",
    )  # fmt: skip
    images = ArrayField(
        models.CharField(max_length=64), null=True, blank=True,
        help_text="The official images that the host can deploy. Empty: all, on simulated hosts.",
    )  # fmt: skip
    architectures = ArrayField(
        models.CharField(max_length=16), null=True, blank=True,
        help_text="The architectures of the kernels that the host's machines boot. Empty: all, on simulated hosts.",
    )  # fmt: skip
    enabled = models.BooleanField(default=True, help_text="Whether the host takes new instances.")
    maintenance = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="The time since which the host's instances are kept stopped.",
    )
    memory = models.PositiveIntegerField(default=4 * 1024 * 1024, help_text="MB for instances.")
    vcpus = models.PositiveIntegerField(default=4096, help_text="Virtual cores for instances.")
    disk = models.PositiveIntegerField(default=256 * 1024 * 1024, help_text="MB for instances.")
    memory_used = models.PositiveIntegerField(default=0, editable=False)
    vcpus_used = models.PositiveIntegerField(default=0, editable=False)
    disk_used = models.PositiveIntegerField(default=0, editable=False)
    unreachable_since = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="The time since which the host has not answered. Empty: the host answers.",
    )
    unreachable_error = models.TextField(blank=True, default="", db_default="", editable=False)
    reachable_since = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="The time of the last answer after an outage. Empty: there was no outage.",
    )
    probe_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="The time at which the watchdog polls the host next."
    )
    probe_lease = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="The end of the lease of the worker that polls the host.",
    )
    reconcile_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="The time of the next comparison of the host with the database."
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
    """The capacity that an instance takes of a host. While it moves, it has a reservation on each of two hosts.

    Only `compute.services.hosts.placement` writes rows.
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


class PlatformKey(models.Model):
    """A key pair of the platform's own: the one by which its workers reach hosts by ssh.

    `public` is as in ``authorized_keys``. Made once, by `compute.services.hosts.access`.
    """

    name = models.CharField(max_length=32, unique=True)
    public = models.TextField()
    encrypted = EncryptedField(editable=False)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


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
