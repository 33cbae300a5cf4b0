"""django-oauth-toolkit's models, swapped: ids have the contract's format, and no usable secret is readable at rest.

Access and refresh tokens are stored only as checksums, by the toolkit itself under
``COMPLIANT_BCP_RFC9700_TOKEN_STORAGE``. Authorization codes are hashed by the field below.
"""

import hashlib
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.http import HttpRequest
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
    ApplicationManager,
)

from accounts.actors import Actor
from accounts.models.accounts import Account


class DigestField(models.CharField):
    """A column that stores the SHA-256 of a value. Lookups hash their values: equality works, reading does not."""

    def get_prep_value(self, value: Any) -> str | None:
        value = super().get_prep_value(value)
        return value if value is None else hashlib.sha256(value.encode()).hexdigest()


def has(column: str) -> models.ExpressionWrapper:
    """Return an SQL expression: whether a column is not null."""
    return models.ExpressionWrapper(models.Q(**{f"{column}__isnull": False}), models.BooleanField())


class OAuthClientQuerySet(models.QuerySet["OAuthClient"]):
    """Clients belong to the account as a whole: `account_access` decides which users see them."""

    def visible_to(self, actor: Actor) -> Self:
        return self.filter(account_id=actor.account_id)

    def for_api(self) -> Self:
        """Return the clients with `has_thumbnail` and `public`, and without the picture itself."""
        public = models.ExpressionWrapper(
            models.Q(client_type=AbstractApplication.CLIENT_PUBLIC), models.BooleanField()
        )
        return self.annotate(has_thumbnail=has("thumbnail"), public=public).defer("thumbnail")


class OAuthClientManager(ApplicationManager.from_queryset(OAuthClientQuerySet)):  # type: ignore[misc]
    """The toolkit's manager, with the project's querysets."""


class OAuthClient(AbstractApplication):
    """An application that may ask users for access. Ids are 20 hex digits, secrets 64 (stored hashed).

    A client belongs to the account that registered it. Without an account it belongs to the platform. Any user of
    any account may authorize it.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        DISABLED = "disabled"
        SUSPENDED = "suspended"

    name = models.CharField("label", max_length=512, blank=True)
    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.CASCADE, related_name="oauth_clients",
        help_text="Empty: an app of the platform.",
    )  # fmt: skip
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    thumbnail = models.BinaryField(null=True, help_text="A PNG image, encoded by this server.")

    objects = OAuthClientManager()

    class Meta(AbstractApplication.Meta):
        swappable = "OAUTH2_PROVIDER_APPLICATION_MODEL"
        verbose_name = "OAuth client"
        constraints = [
            # The toolkit allows a client to keep its secret readable. Hashes contain a $, secrets do not.
            models.CheckConstraint(
                condition=models.Q(client_secret="") | models.Q(client_secret__contains="$"),  # noqa: S106
                name="oauth_client_secret_hashed",
            ),
        ]

    @property
    def effective_status(self) -> str:
        """The client's status, or ``suspended`` while its account is suspended. Reads the account."""
        suspended = self.account is not None and not self.account.is_active
        return self.Status.SUSPENDED if suspended else self.status

    def is_usable(self, request: HttpRequest) -> bool:
        return self.effective_status == self.Status.ACTIVE


class Picture(models.Model):
    """A picture that a client sent and that is not drawn yet: a worker makes the client's thumbnail from it.

    A later picture replaces it. Workers claim pictures as they claim messages: by a lease, with every result
    conditional on the `fence`.
    """

    client = models.OneToOneField(OAuthClient, on_delete=models.CASCADE, related_name="undrawn")
    content = models.BinaryField(help_text="The uploaded file. Only its header was checked.")
    attempt = models.PositiveSmallIntegerField(db_default=0)
    run_at = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(db_default=0)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"picture of {self.client_id}"


class OAuthGrant(AbstractGrant):
    """An authorization code, to be exchanged for tokens. Written once, never re-saved.

    An exchanged code stays as `spent`, with the tokens that were issued for it, until it is deleted like expired
    codes. A second use before its expiry means that the code was copied. It revokes all tokens that came from the
    code. `token_family` is the family of the refresh tokens. Public clients get none.
    """

    code = DigestField(max_length=64, unique=True)
    spent = models.BooleanField(default=False)
    access_token = models.ForeignKey(
        settings.OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    token_family = models.UUIDField(null=True)

    class Meta(AbstractGrant.Meta):
        swappable = "OAUTH2_PROVIDER_GRANT_MODEL"
        verbose_name = "OAuth authorization code"


class OAuthAccessToken(AbstractAccessToken):
    class Meta(AbstractAccessToken.Meta):
        swappable = "OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL"
        verbose_name = "OAuth access token"


class OAuthRefreshToken(AbstractRefreshToken):
    class Meta(AbstractRefreshToken.Meta):
        swappable = "OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL"
        verbose_name = "OAuth refresh token"


class OAuthIDToken(AbstractIDToken):
    class Meta(AbstractIDToken.Meta):
        swappable = "OAUTH2_PROVIDER_ID_TOKEN_MODEL"
        verbose_name = "OAuth ID token"


class AuthorizationQuerySet(models.QuerySet["Authorization"]):
    def active(self) -> Self:
        """Return authorizations whose access has not ended, by the database's clock."""
        return self.filter(models.Q(expiry=None) | models.Q(expiry__gt=Now()))

    def for_api(self) -> Self:
        """Return the authorizations with `has_thumbnail`, so that no list reads the pictures themselves."""
        return self.annotate(has_thumbnail=has("client__thumbnail"))


class Authorization(models.Model):
    """A client's access to a user: one row for each pair, from the first token until the last one has ended.

    `expiry` is the end of the last token. `accounts.services.access` writes it with each token that is created or
    ended, and deletes the row with the last token. It is null only in rows of the previous release. The row is
    locked before tokens of the user and the client are written.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="authorizations")
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="authorizations")
    scopes = models.TextField(help_text="Space-separated, or * for all.")
    created = models.DateTimeField(auto_now_add=True)
    expiry = models.DateTimeField(null=True, blank=True)

    objects = AuthorizationQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("user", "client"), name="one_authorization_per_client")]

    def __str__(self) -> str:
        return f"{self.client} for {self.user}"
