"""Firewalls, as far as an instance lists those it stands behind."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import Account, GrantedQuerySet
from compute.models.instances import Instance


class FirewallQuerySet(GrantedQuerySet):
    entity_type = "firewall"


def open_rules() -> dict:
    """Rules that let everything through: no rule of their own, and both policies ``ACCEPT``."""
    return {"inbound": [], "outbound": [], "inbound_policy": "ACCEPT", "outbound_policy": "ACCEPT"}


class Firewall(models.Model):
    """Rules for the traffic of the instances it is on."""

    class Status(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"
        DELETED = "deleted"

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
                violation_error_message="Label must be unique among your firewalls",
                violation_error_code="label",
            ),
        ]

    def __str__(self):
        return self.label


class FirewallDevice(models.Model):
    """An instance that a firewall is on."""

    firewall = models.ForeignKey(Firewall, on_delete=models.CASCADE, related_name="devices")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="firewall_devices")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("firewall", "instance"), name="firewall_once")]

    def __str__(self):
        return f"{self.firewall} on {self.instance_id}"
