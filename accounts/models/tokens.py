"""Personal access tokens. OAuth tokens are in `accounts.models.oauth`."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models.oauth import OAuthClient
from accounts.models.users import User


class PersonalTokenQuerySet(models.QuerySet["PersonalToken"]):
    def unexpired(self) -> Self:
        """Return tokens that have not expired, by the database's clock, so that SQL compiled once stays right."""
        return self.filter(Q(expiry=None) | Q(expiry__gt=Now()))


class PersonalToken(models.Model):
    """An opaque bearer token of 64 hex digits, shown once.

    Only its SHA-256 `digest` is stored, and its first 16 characters, to tell tokens apart in lists. The token has
    256 random bits, so a slow hash would add nothing.

    A token that an app created belongs to the app, `client`. It ends with the app's access, also if the access
    expires. `accounts.services.access` ends it.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="personal_tokens")
    label = models.CharField(max_length=100)
    scopes = models.TextField(default="*", help_text="Space-separated, or * for all.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=16, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    expiry = models.DateTimeField(null=True, blank=True, help_text="Empty: the token does not expire.")
    # No index: it is looked up among the tokens of a user, or when a client is deleted.
    client = models.ForeignKey(
        OAuthClient, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False,
        help_text="The app whose token created this token. Empty: the user created it.",
    )  # fmt: skip

    objects = PersonalTokenQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        verbose_name = "personal access token"

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"


class TokenLinkQuerySet(models.QuerySet["TokenLink"]):
    def good(self) -> Self:
        """Return links that still give a token, by the database's clock.

        Neither they nor the token have expired, and the token would not be answered 401.
        """
        alive = self.filter(expiry__gt=Now(), user__is_active=True, user__account__is_active=True)
        return alive.filter(Q(token_expiry=None) | Q(token_expiry__gt=Now()))


class TokenLink(models.Model):
    """An address that shows a new token of `user` once, to anyone who opens it.

    The token does not exist before: it is created when the page's button is pressed, and then the row is deleted.
    Only the SHA-256 `digest` of the address's random part (256 bits) is stored.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="token_links")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    label = models.CharField(max_length=100, help_text="The label of the token.")
    scopes = models.TextField(help_text="The scopes of the token, separated by spaces, or * for all.")
    token_expiry = models.DateTimeField(null=True, blank=True, help_text="Empty: the token does not expire.")
    created_by = models.CharField(
        max_length=32, blank=True, help_text="The username of staff. Empty: the platform."
    )
    created = models.DateTimeField(db_default=Now())
    expiry = models.DateTimeField(help_text="The time at which the link expires.")

    objects = TokenLinkQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        verbose_name = "link to a token"
        verbose_name_plural = "links to tokens"

    def __str__(self) -> str:
        return f"to {self.label}"
