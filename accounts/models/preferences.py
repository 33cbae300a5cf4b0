"""JSON objects that OAuth clients store for their users."""

from django.db import models

from accounts.models.oauth import OAuthClient
from accounts.models.users import User


class Preferences(models.Model):
    """One JSON object for each user and OAuth client. Personal access tokens share the one without a client.

    It is stored as text, so that clients get the keys back in the order in which they sent them.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="preferences")
    client = models.ForeignKey(OAuthClient, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    body = models.TextField(default="{}")
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "preferences"
        constraints = [
            models.UniqueConstraint(fields=("user", "client"), nulls_distinct=False, name="one_set_of_preferences"),
        ]

    def __str__(self) -> str:
        return f"preferences of {self.user}"
