"""The account: the customer, which owns all objects and has users."""

import uuid
from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models

from accounts.quotas import NEW

MAX_COMMENT_LENGTH = 500
"""The maximum number of characters of the reason for closing an account."""
CLOSED = "This account was closed by one of its users. Support can open it again."
SUSPENDED = "This account is suspended."


# The stubs do not know the managers of django-oauth-toolkit's models: the toolkit has no type hints.
class Account(models.Model):  # type: ignore[django-manager-missing]
    """A customer. Every entity belongs to exactly one account, and labels are unique within it."""

    euuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    company = models.CharField(max_length=128, blank=True)
    email = models.EmailField(max_length=128)
    first_name = models.CharField(max_length=50, blank=True)
    last_name = models.CharField(max_length=50, blank=True)
    address_1 = models.CharField("address", max_length=64, blank=True)
    address_2 = models.CharField("address, second line", max_length=64, blank=True)
    city = models.CharField(max_length=24, blank=True)
    state = models.CharField(max_length=24, blank=True)
    zip = models.CharField(max_length=16, blank=True)
    country = models.CharField(max_length=2, blank=True, help_text="ISO 3166, two letters.")
    phone = models.CharField(max_length=32, blank=True)
    tax_id = models.CharField(max_length=25, blank=True)

    network_helper = models.BooleanField(
        default=True, help_text="Whether new configuration profiles let the host write the guest's network files."
    )
    backups_enabled = models.BooleanField(default=False, help_text="Whether new computes have backups.")
    managed = models.BooleanField(default=False, help_text="Whether the account has managed monitoring.")
    is_active = models.BooleanField(default=True, help_text="A suspended account's tokens answer 401.")
    closed = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When one of its users closed the account. Empty if no user did, or if it was restored since.",
    )
    closed_by = models.CharField(
        max_length=32,
        blank=True,
        db_default="",
        editable=False,
        help_text="The user who closed the account.",
    )
    closing_comment = models.CharField(
        max_length=MAX_COMMENT_LENGTH,
        blank=True,
        db_default="",
        editable=False,
        help_text="The reason that the user gave.",
    )
    extra_ipv4 = models.PositiveIntegerField(
        "extra IPv4 addresses",
        default=0,
        help_text="Public IPv4 addresses that the account may have, besides the one included with each compute.",
    )
    mail_ports_open = models.BooleanField(
        null=True,
        editable=False,
        help_text="Whether computes may connect to mail ports, set by staff. Empty: by the account's age.",
    )
    total_payments = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        default=Decimal(0),
        db_default=Decimal(0),
        validators=[MinValueValidator(0)],
        help_text="The account's payments in total, in USD. From 25.00, its users' profiles show referrals.",
    )
    quotas = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        editable=False,
        help_text="Quotas of this account that differ from the settings, by name.",
    )
    trust_level = models.SlugField(
        max_length=32,
        default=NEW,
        db_default=NEW,
        db_index=False,
        help_text="The plan, which sets the account's limits of chargeable resources.",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(closed=None) | models.Q(is_active=False), name="closed_account_is_not_active"
            ),
        ]

    def __str__(self) -> str:
        return self.company or self.email

    @property
    def standing(self) -> str:
        """``active``, ``closed`` by one of its users, or ``suspended`` by staff."""
        if self.is_active:
            return "active"
        return "suspended" if self.closed is None else "closed"

    @property
    def refusal(self) -> str:
        """The reason why users of an account that is not active cannot sign in."""
        return SUSPENDED if self.closed is None else CLOSED
