"""Identities at an OpenID Connect provider, logins, and remembered browsers."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.functions import Now

from accounts.models.accounts import Account
from accounts.models.users import User

LOGINS_SHOWN_FOR = timedelta(days=90)


class ExternalIdentity(models.Model):
    """A user's identity at the OpenID Connect provider that replaces the user's password.

    The row exists exactly while the user's `authentication_type` is not ``password``.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="external_identity")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255, help_text="The provider's permanent id of the person.")
    label = models.CharField(
        max_length=128, blank=True, help_text="The provider's name of the person. For display only."
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "external identities"
        constraints = [models.UniqueConstraint(fields=("issuer", "subject"), name="external_identity")]

    def __str__(self) -> str:
        return self.label or self.subject


class LoginQuerySet(models.QuerySet["Login"]):
    def recent(self) -> Self:
        """Return logins of the last 90 days, by the database's clock."""
        return self.filter(created__gte=Now() - LOGINS_SHOWN_FOR)


class Login(models.Model):
    """A successful login, with the username and whether the user was restricted at that time."""

    account = models.ForeignKey(Account, null=True, on_delete=models.CASCADE, related_name="logins")
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="logins")
    username = models.CharField(max_length=32)
    restricted = models.BooleanField()
    ip = models.GenericIPAddressField()
    created = models.DateTimeField(auto_now_add=True)

    objects = LoginQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("account", "-id"), name="login_account"),
            models.Index(fields=("user", "-id"), name="login_user"),
            # Staff search for logins from an address, and for logins of deleted users.
            models.Index(fields=("ip",), name="login_ip"),
            models.Index(fields=("username",), name="login_username"),
        ]

    def __str__(self) -> str:
        return f"{self.username} from {self.ip}"


class TrustedDeviceQuerySet(models.QuerySet["TrustedDevice"]):
    def active(self) -> Self:
        """Return browsers that are neither expired nor revoked, by the database's clock."""
        return self.filter(expiry__gt=Now())


class TrustedDevice(models.Model):
    """A browser that remembers its user. The user needs no second factor there until `expiry`.

    Only the SHA-256 of the cookie's value is stored. Revoking deletes the row, and ends the sessions that name it.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="devices")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    user_agent = models.TextField(blank=True)
    last_remote_addr = models.GenericIPAddressField()
    last_authenticated = models.DateTimeField()
    created = models.DateTimeField(auto_now_add=True)
    expiry = models.DateTimeField()

    objects = TrustedDeviceQuerySet.as_manager()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.user_agent or f"device {self.pk}"
