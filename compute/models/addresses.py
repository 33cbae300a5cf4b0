"""Addresses: pools that staff manage, and the rows instances take from them."""

from django.db import models
from django.db.models import F, Q

from regions.models import Region


class AddressPool(models.Model):
    """A network of one region that addresses come from.

    `public` and `private` pools hold one `Address` row for each usable IPv4 address; a `slaac` pool is an IPv6
    /64 in which an instance's address follows from its id, so it has no rows; ranges are cut out of a `routed` one.
    """

    class Kind(models.TextChoices):
        PUBLIC = "public"
        PRIVATE = "private"
        SLAAC = "slaac"
        ROUTED = "routed"

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="address_pools")
    kind = models.CharField(max_length=8, choices=Kind)
    network = models.CharField(max_length=49, unique=True, help_text="CIDR, such as 198.51.100.0/24.")
    gateway = models.GenericIPAddressField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("region", "kind", "id")

    def __str__(self):
        return f"{self.network} ({self.kind}, {self.region_id})"


class Address(models.Model):
    """One IPv4 address. Free while `instance` is null.

    Rows exist before they are taken, so that taking one is an UPDATE of the least recently released free row
    (``SKIP LOCKED``, through the partial index below): the cost does not depend on how full the pool is, and
    two requests can never hold the same row.
    """

    pool = models.ForeignKey(AddressPool, on_delete=models.CASCADE, related_name="addresses")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    address = models.GenericIPAddressField(unique=True)
    prefix = models.PositiveSmallIntegerField()
    gateway = models.GenericIPAddressField()
    public = models.BooleanField()
    instance = models.ForeignKey(
        "compute.Instance", null=True, blank=True, on_delete=models.SET_NULL, related_name="addresses"
    )
    rdns = models.CharField(max_length=254, null=True, blank=True, help_text="Empty: the platform's default.")
    released = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "addresses"
        ordering = ("id",)
        indexes = [
            models.Index(
                F("region"), F("public"), F("released").asc(nulls_first=True), F("id"),
                condition=Q(instance__isnull=True), name="address_free",
            ),
        ]  # fmt: skip

    def __str__(self):
        return self.address
