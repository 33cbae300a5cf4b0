"""The account: the customer that owns everything and has users."""

import uuid

from django.db import models


class Account(models.Model):
    """A customer. Every entity belongs to exactly one account, and labels are unique within it."""

    euuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    company = models.CharField(max_length=128, blank=True)
    email = models.EmailField(max_length=128)
    is_active = models.BooleanField(default=True, help_text="A suspended account's tokens answer 401.")
    extra_ipv4 = models.PositiveIntegerField(
        "extra IPv4 addresses",
        default=0,
        help_text="Public IPv4 addresses the account may hold beyond the one included with each compute.",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)

    def __str__(self):
        return self.company or self.email
