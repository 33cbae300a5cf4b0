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
"""All capabilities that a region can list. Those that are not built yet are only shown."""


class Region(models.Model):
    """A place where services are offered. Staff maintain the rows; clients only read them.

    A `retired` region accepts no new objects. Existing objects go on as before, so clients still see the region.
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
        """The reason why the region accepts no new object that needs `capability`, or None where it does."""
        if self.retired:
            return RETIRED
        if capability is not None and capability not in self.capabilities:
            return f"This region does not offer {capability}."
        return None
