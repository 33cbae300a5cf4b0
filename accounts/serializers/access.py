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
    datetime = DateTimeField(source="created", help_text="The time of the login, in UTC.")
    ip = CharField(help_text="The IP address that the user signed in from.")
    restricted = BooleanField(help_text="Whether the user was restricted at that time.")
    username = CharField(help_text="The user who signed in.")
    status = Constant(
        ChoiceField(["successful", "failed"]),
        "successful",
        help_text=Meanings(
            "The result of the login.", {"successful": "The user signed in.", "failed": "Not listed."}
        ),
    )
    successful = Constant(BooleanField(), True, help_text="Always true: failed logins are not listed.")

    class Meta:
        read_only = True


class TrustedDeviceResource(Resource):
    """A browser that remembers the user."""

    id = IntegerField()
    created = DateTimeField(help_text="The time at which the browser was remembered, in UTC.")
    expiry = DateTimeField(
        help_text="The time at which the browser is no longer remembered, in UTC: usually 30 days later."
    )
    user_agent = CharField(help_text="The user agent of the browser.")
    last_authenticated = DateTimeField(help_text="The time of the last login with the browser, in UTC.")
    last_remote_addr = IPAddressField(help_text="The IP address of the last login with the browser.")

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

    id = IntegerField(help_text="The number of the authorization. Use it to revoke the authorization.")
    label = CharField(source="client.name", help_text="The name of the app.")
    thumbnail_url = Computed(
        URLField(allow_null=True),
        thumbnail_url,
        "client__client_id",
        "has_thumbnail",
        help_text="The address of the app's picture. Null if there is none.",
    )
    scopes = PlatformTextField(help_text="The scopes of the app, separated by spaces. `*` means all scopes.")
    created = DateTimeField(help_text="The time at which the user authorized the app, in UTC.")
    expiry = DateTimeField(
        allow_null=True,
        help_text="The time at which the last token of the app expires, in UTC. Null if a token never expires.",
    )
    website = Computed(
        URLField(),
        site_of,
        "client__redirect_uris",
        help_text="The website of the app: the origin of its redirect address.",
    )

    class Meta:
        read_only = True
