"""The people to notify when a service fails."""

from django.db import models

from accounts.models import Account
from managed.models.owned import OwnedQuerySet


class Contact(models.Model):
    """A person whom the account wants notified. Services name a `group` as their consultation group."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="managed_contacts")
    name = models.CharField(max_length=64)
    email = models.EmailField(max_length=128)
    phone_primary = models.CharField(max_length=32, null=True, blank=True)
    phone_secondary = models.CharField(max_length=32, null=True, blank=True)
    group = models.CharField(max_length=50, null=True, blank=True)
    updated = models.DateTimeField(auto_now=True)

    objects = OwnedQuerySet["Contact"].as_manager()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name
