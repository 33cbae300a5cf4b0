"""Serializers of logins, trusted devices and authorized apps."""

from django.conf import settings
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    IPAddressField,
    URLField,
)

from config.api.fields import Computed, Constant, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource


class LoginResource(Resource):
    """A successful login of a user."""

    id = IntegerField()
    datetime = DateTimeField(source="created", help_text="When the login was begun, in UTC.")
    ip = CharField(help_text="The address that it came from.")
    restricted = BooleanField(help_text="Whether the user was restricted at the time.")
    username = CharField(help_text="The user who signed in.")
    status = Constant(
        ChoiceField(["successful", "failed"]),
        "successful",
        help_text=Meanings("How it ended.", {"successful": "The user is signed in.", "failed": "Not listed here."}),
    )
    successful = Constant(BooleanField(), True, help_text="Always true: others are not listed.")

    class Meta:
        read_only = True


class TrustedDeviceResource(Resource):
    """A browser that remembers the user."""

    id = IntegerField()
    created = DateTimeField(help_text="When the user chose to be remembered by the browser, in UTC.")
    expiry = DateTimeField(help_text="When it is forgotten, in UTC; as a rule 30 days later.")
    user_agent = CharField(help_text="How the browser named itself.")
    last_authenticated = DateTimeField(help_text="When it was last used to sign in, in UTC.")
    last_remote_addr = IPAddressField(help_text="The address it was last used from.")

    class Meta:
        read_only = True


def thumbnail_url(client_id: str, there: bool) -> str | None:
    """Return the address of a client's picture, or None if it has none."""
    return f"{settings.SITE_URL}/v4/account/oauth-clients/{client_id}/thumbnail" if there else None


def site_of(redirect_uris: str) -> str:
    """Return the site of a client: the origin of its first redirect address."""
    return "/".join(redirect_uris.split(" ")[0].split("/")[:3])


class AppResource(Resource):
    """An app that a user has given access to the account."""

    id = IntegerField(help_text="The number of the authorization, by which it is revoked.")
    label = CharField(source="client.name", help_text="The name of the app.")
    thumbnail_url = Computed(
        URLField(allow_null=True),
        thumbnail_url,
        "client__client_id",
        "has_thumbnail",
        help_text="Where its picture is; null where it has none.",
    )
    scopes = PlatformTextField(help_text="What the app may do: scopes separated by spaces, `*` for all.")
    created = DateTimeField(help_text="When the user authorized it, in UTC.")
    expiry = DateTimeField(
        allow_null=True, help_text="When the last of its tokens ends, in UTC; null where one never does."
    )
    website = Computed(
        URLField(),
        site_of,
        "client__redirect_uris",
        help_text="Where to learn more about it: the origin of its redirect address.",
    )

    class Meta:
        read_only = True
