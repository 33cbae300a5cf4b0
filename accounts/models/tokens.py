"""Personal access tokens. OAuth tokens are in `accounts.models.oauth`."""

from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models.oauth import OAuthClient
from accounts.models.users import User


class PersonalTokenQuerySet(models.QuerySet["PersonalToken"]):
    def unexpired(self) -> Self:
        """Tokens that have not expired, by the database's clock, so that SQL compiled once stays right."""
        return self.filter(Q(expiry=None) | Q(expiry__gt=Now()))


class PersonalToken(models.Model):
    """An opaque bearer token of 64 hex digits, shown once.

    Only its SHA-256 `digest` is kept (the token carries 256 random bits, so a slow hash would add nothing)
    and, to tell tokens apart in lists, its first 16 characters.

    One that an app's token made belongs to the app, `client`: it ends with the app's access, at the latest when
    that ends by itself. `accounts.services.access` sees to that.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="personal_tokens")
    label = models.CharField(max_length=100)
    scopes = models.TextField(default="*", help_text="Space-separated, or * for all.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=16, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    expiry = models.DateTimeField(null=True, blank=True, help_text="Empty: it does not expire.")
    # without an index: it is looked for among the tokens of a user, or when a client is deleted
    client = models.ForeignKey(
        OAuthClient, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False,
        help_text="The app whose token made it. Empty: the user's own.",
    )  # fmt: skip

    objects = PersonalTokenQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        verbose_name = "personal access token"

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"


class TokenLinkQuerySet(models.QuerySet["TokenLink"]):
    def good(self) -> Self:
        """Links that still give a token, by the database's clock: neither they nor the token have expired, and the
        token would not be answered 401."""
        alive = self.filter(expiry__gt=Now(), user__is_active=True, user__account__is_active=True)
        return alive.filter(Q(token_expiry=None) | Q(token_expiry__gt=Now()))


class TokenLink(models.Model):
    """An address at which whoever opens it is shown a new token of `user`, once.

    There is no token before: it is made when the page's button is pressed, and the row is deleted with that. Of the
    address's random part (256 bits) only the SHA-256 `digest` is kept.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="token_links")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    label = models.CharField(max_length=100, help_text="Of the token.")
    scopes = models.TextField(help_text="Of the token: space-separated, or * for all.")
    token_expiry = models.DateTimeField(null=True, blank=True, help_text="Empty: the token does not expire.")
    created_by = models.CharField(max_length=32, blank=True, help_text="A member of staff. Empty: the platform.")
    created = models.DateTimeField(db_default=Now())
    expiry = models.DateTimeField(help_text="When the link itself ends.")

    objects = TokenLinkQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        verbose_name = "link to a token"
        verbose_name_plural = "links to tokens"

    def __str__(self) -> str:
        return f"to {self.label}"
