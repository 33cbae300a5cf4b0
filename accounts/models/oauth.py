"""django-oauth-toolkit's models, swapped: ids of the contract's shape, nothing reusable readable at rest.

Access and refresh tokens are kept as checksums only (the toolkit does this itself under
``COMPLIANT_BCP_RFC9700_TOKEN_STORAGE``); authorization codes by the field below.
"""

import hashlib

from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)


class DigestField(models.CharField):
    """Stores the SHA-256 of what it is given, in rows and in lookups alike: equality works, reading does not."""

    def get_prep_value(self, value):
        value = super().get_prep_value(value)
        return value if value is None else hashlib.sha256(value.encode()).hexdigest()


class OAuthClient(AbstractApplication):
    """An application that may ask users for access. Ids are 20 hex digits, secrets 64 (kept hashed)."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        DISABLED = "disabled"
        SUSPENDED = "suspended"

    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)

    class Meta(AbstractApplication.Meta):
        swappable = "OAUTH2_PROVIDER_APPLICATION_MODEL"
        verbose_name = "OAuth client"
        constraints = [
            # The toolkit lets a client choose to keep its secret readable; hashes have a $, secrets none.
            models.CheckConstraint(
                condition=models.Q(client_secret="") | models.Q(client_secret__contains="$"),  # noqa: S106
                name="oauth_client_secret_hashed",
            ),
        ]

    def is_usable(self, request):
        return self.status == self.Status.ACTIVE


class OAuthGrant(AbstractGrant):
    """An authorization code on its way to becoming a token. Written once and then deleted, never re-saved."""

    code = DigestField(max_length=64, unique=True)

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
