"""Firewalls, the instances they are on, and the packet filters that hosts have for these instances."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.models import Account, GrantedQuerySet
from compute.models.instances import Instance


class FirewallQuerySet(GrantedQuerySet):
    entity_type = "firewall"


def open_rules() -> dict:
    """Rules that let everything through: no rule of their own, and both policies ``ACCEPT``."""
    return {"inbound": [], "outbound": [], "inbound_policy": "ACCEPT", "outbound_policy": "ACCEPT"}


class Firewall(models.Model):
    """Rules for the traffic of the instances that the firewall is on. A deleted firewall has no row."""

    class Status(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="firewalls")
    label = models.CharField(max_length=32)
    status = models.CharField(max_length=10, choices=Status, default=Status.ENABLED)
    rules = models.JSONField(default=open_rules)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = FirewallQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="firewall_label",
                violation_error_message="Label must be unique among your Cloud Firewalls",
                violation_error_code="label",
            ),
        ]

    def __str__(self) -> str:
        return self.label


class FirewallDevice(models.Model):
    """An instance that a firewall is on. `enabled` repeats the firewall's status, for the constraint on it."""

    firewall = models.ForeignKey(Firewall, on_delete=models.CASCADE, related_name="devices")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="firewall_devices")
    enabled = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=("firewall", "instance"), name="firewall_once"),
            models.UniqueConstraint(
                fields=("instance",),
                condition=Q(enabled=True),
                name="one_enabled_firewall",
                violation_error_message="The compute has an enabled firewall already.",
                violation_error_code=None,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.firewall} on {self.instance_id}"


class PacketFilter(models.Model):
    """The packet filter of an instance by its versions: `wanted` by our tables, and `applied` by the host.

    Every change that concerns the instance increments `wanted` in its own transaction. The worker that delivers the
    packet filter writes the version that the host confirms to `applied`. So a row whose `applied` is lower than
    `wanted` is due, even if a notification was lost. A worker claims a row as it claims a job: by a lease, with
    every result conditional on the `fence`. An instance that never had anything to filter has no row, unless the
    database was restored since.

    `mail_ports_closed` is part of the wanted filter. If it is set, new connections out to mail ports are dropped,
    whatever the firewall says (`compute.services.networking.firewalls.mail_ports`).
    """

    instance = models.OneToOneField(
        Instance, primary_key=True, on_delete=models.CASCADE, related_name="packet_filter"
    )
    wanted = models.PositiveBigIntegerField(default=1)
    applied = models.PositiveBigIntegerField(db_default=0)
    mail_ports_closed = models.BooleanField(db_default=False)
    changed = models.DateTimeField(
        db_default=Now(), help_text="The time of the first change that the host has not applied."
    )
    confirmed = models.DateTimeField(null=True, help_text="The time at which the host last applied rules.")
    error = models.TextField(blank=True, db_default="")
    attempt = models.PositiveIntegerField(db_default=0)
    fence = models.PositiveIntegerField(db_default=0)
    run_at = models.DateTimeField(db_default=Now())
    notified_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=("run_at",), condition=Q(applied__lt=F("wanted")), name="packet_filter_due")]

    def __str__(self) -> str:
        return f"packet filter of {self.instance}"

    @property
    def pending(self) -> bool:
        """Whether the host has an older packet filter than the one wanted."""
        return self.applied < self.wanted
