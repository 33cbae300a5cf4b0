"""The region catalogue."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Region(models.Model):
    """A place where services are offered. Staff maintain the rows; clients only read them."""

    class Status(models.TextChoices):
        OK = "ok"
        OUTAGE = "outage"

    id = models.SlugField(primary_key=True, max_length=50)
    country = models.CharField(max_length=2)
    capabilities = ArrayField(models.CharField(max_length=64), default=list)
    status = models.CharField(max_length=10, choices=Status, default=Status.OK)
    resolvers_ipv4 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")
    resolvers_ipv6 = models.TextField(blank=True, help_text="Comma-separated resolver addresses.")

    class Meta:
        ordering = ("id",)

    def __str__(self):
        return self.id
