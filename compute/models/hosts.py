"""Hosts: the machines instances run on."""

import uuid

from django.db import models

from regions.models import Region


class Host(models.Model):
    """A hypervisor machine in a region. Staff manage the rows; placement picks an `enabled` one."""

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    label = models.CharField(max_length=64, unique=True)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="hosts")
    enabled = models.BooleanField(default=True, help_text="Takes new instances.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)

    def __str__(self):
        return self.label
