"""The region catalogue."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

RETIRED = "This region is retired: it takes nothing new."
CAPABILITIES = (
    "Bare Metal",
    "Block Storage",
    "Block Storage Migrations",
    "Cloud Firewall",
    "Computes",
    "GPU Computes",
    "Kubernetes",
    "Managed Databases",
    "NodeBalancers",
    "Object Storage",
    "Vlans",
)
"""All that a region can say it offers. Nobody creates anything by those that are not built yet: they are shown."""


class Region(models.Model):
    """A place where services are offered. Staff maintain the rows; clients only read them.

    One that is `retired` takes nothing new. What is there goes on as ever, so clients still read of it.
    """

    class Status(models.TextChoices):
        OK = "ok"
        OUTAGE = "outage"

    id = models.SlugField(primary_key=True, max_length=50)
    country = models.CharField(max_length=2)
    capabilities = ArrayField(models.CharField(max_length=64), default=list)
    status = models.CharField(max_length=10, choices=Status, default=Status.OK)
    retired = models.BooleanField(
        default=False,
        help_text="Takes nothing new: no computes, volumes, load balancers or arrivals. What is there stays.",
    )
    resolvers_ipv4 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")
    resolvers_ipv6 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.id

    def refusal(self, capability: str | None = None) -> str | None:
        """Why nothing new may come here that needs the capability, or None where it may."""
        if self.retired:
            return RETIRED
        if capability is not None and capability not in self.capabilities:
            return f"This region does not offer {capability}."
        return None
