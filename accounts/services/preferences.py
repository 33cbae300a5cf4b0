"""JSON objects that OAuth clients store for their users."""

from django.db import transaction

from accounts.actors import Actor
from accounts.models import OAuthClient, Preferences
from config.errors import Missing


def read(actor: Actor) -> str:
    """Return the JSON object that the acting client has stored for this user, or ``{}``."""
    mine = Preferences.objects.filter(user_id=actor.person, client__client_id=actor.client_id)
    return mine.values_list("body", flat=True).first() or "{}"


@transaction.atomic
def write(actor: Actor, body: str) -> None:
    """Store a JSON object in place of the acting client's last one. No event: clients write at every click.

    Raises `Missing` if the acting client was deleted meanwhile. Without this check, the object of personal tokens
    would be written: that is the object without a client.
    """
    client = OAuthClient.objects.filter(client_id=actor.client_id).first() if actor.client_id else None
    if actor.client_id and client is None:
        raise Missing
    Preferences.objects.update_or_create(user_id=actor.person, client=client, defaults={"body": body})
