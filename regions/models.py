"""The region catalogue."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

RETIRED = "This region is retired. Choose another region."
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


AFTER_CATALOGUE = 1000
"""The position of a row that staff add, unless they set another. The catalogue's rows have 10, 20, 30 …"""


def position() -> models.PositiveSmallIntegerField:
    """Return the column by which lists of the catalogue are ordered, before the id."""
    return models.PositiveSmallIntegerField(
        default=AFTER_CATALOGUE,
        db_default=AFTER_CATALOGUE,
        help_text="The position in lists: the smallest comes first. The catalogue has 10, 20, 30 …",
    )


class Region(models.Model):
    """A place where services are offered. Staff maintain the rows, and clients only read them.

    A `retired` region accepts no new objects. Existing objects keep working, so clients still see the region.
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
        help_text="Takes no new computes, volumes or load balancers, and no moved computes. Existing ones stay.",
    )
    resolvers_ipv4 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")
    resolvers_ipv6 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")
    position = position()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.id

    def refusal(self, capability: str | None = None) -> str | None:
        """Return the reason why the region accepts no new object that needs `capability`, or None."""
        if self.retired:
            return RETIRED
        if capability is not None and capability not in self.capabilities:
            return f"This region does not offer {capability}."
        return None
