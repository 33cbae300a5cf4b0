"""What OAuth clients keep for their users."""

from django.db import transaction

from accounts.actors import Actor
from accounts.models import OAuthClient, Preferences
from config.errors import Missing


def read(actor: Actor) -> str:
    """The JSON object that the client which acts has kept for this user; ``{}`` where it has not."""
    mine = Preferences.objects.filter(user_id=actor.person, client__client_id=actor.client_id)
    return mine.values_list("body", flat=True).first() or "{}"


@transaction.atomic
def write(actor: Actor, body: str) -> None:
    """Keep a JSON object in place of the one there was. No event: clients write at every click.

    Raises `Missing` where the client that acts was deleted meanwhile: without one, it would be the object of
    personal tokens.
    """
    client = OAuthClient.objects.filter(client_id=actor.client_id).first() if actor.client_id else None
    if actor.client_id and client is None:
        raise Missing
    Preferences.objects.update_or_create(user_id=actor.person, client=client, defaults={"body": body})
