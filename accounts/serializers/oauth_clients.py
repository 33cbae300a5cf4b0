"""Serializers of OAuth clients."""

from rest_framework.serializers import BooleanField, CharField, ChoiceField, URLField

from accounts.models import OAuthClient
from accounts.redirects import MAX_URI_LENGTH
from accounts.serializers.access import thumbnail_url
from config.api.common_fields import printable
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.serializers import Resource

HIDDEN = "<REDACTED>"


def hidden_secret(public: bool) -> str:
    """Return the text that is shown in place of a client's secret."""
    return "" if public else HIDDEN


class OAuthClientResource(Resource):
    """An app that may ask users for access."""

    id = CharField(
        source="client_id", read_only=True, help_text="20 hex digits: the `client_id` of the OAuth flow."
    )
    label = CharField(
        source="name",
        min_length=1,
        max_length=512,
        validators=[printable("label")],
        help_text="The app's name, which users see when it asks for access.",
    )
    redirect_uri = CharField(
        source="redirect_uris",
        max_length=MAX_URI_LENGTH,
        help_text="Where users are sent back to, with a code. Compared exactly, but for a query that is added.",
    )
    status = ChoiceField(
        OAuthClient.Status.choices,
        read_only=True,
        help_text=Meanings(
            "Whether it may be used.",
            {
                "active": "It may.",
                "disabled": "Staff have turned it off.",
                "suspended": "Staff have suspended it.",
            },
        ),
    )
    secret = Computed(
        CharField(),
        hidden_secret,
        "public",
        help_text="The client's secret, 64 hex digits: whole in the answer that makes it, `<REDACTED>` afterwards. "
        "Empty for a public client, which has none.",
    )
    thumbnail_url = Computed(
        URLField(allow_null=True),
        thumbnail_url,
        "client_id",
        "has_thumbnail",
        help_text="Where its picture is; null where it has none.",
    )
    public = BooleanField(
        required=False,
        help_text="Whether it cannot keep a secret, as apps on phones and in browsers cannot: then it "
        "needs PKCE. By default false.",
    )
