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
        help_text="The app's name. Users see it on the page that asks for their consent.",
    )
    redirect_uri = CharField(
        source="redirect_uris",
        max_length=MAX_URI_LENGTH,
        help_text="The address to which users return with a code. A request must send exactly this "
        "address. It may add a query.",
    )
    status = ChoiceField(
        OAuthClient.Status.choices,
        read_only=True,
        help_text=Meanings(
            "Whether the client can be used.",
            {
                "active": "The client can be used.",
                "disabled": "Staff have disabled the client.",
                "suspended": "Staff have suspended the client.",
            },
        ),
    )
    secret = Computed(
        CharField(),
        hidden_secret,
        "public",
        help_text="The client's secret, 64 hex digits. Only the answer that creates the secret shows it. "
        "Other answers show `<REDACTED>`. Empty for a public client.",
    )
    thumbnail_url = Computed(
        URLField(allow_null=True),
        thumbnail_url,
        "client_id",
        "has_thumbnail",
        help_text="The address of the client's picture. Null if there is none.",
    )
    public = BooleanField(
        required=False,
        help_text="Whether the client is public: it cannot keep a secret, such as an app on a phone or in "
        "a browser. A public client needs PKCE. By default false.",
    )
