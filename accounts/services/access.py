"""Who has been let in: the apps a user has authorized, and the browsers that are remembered."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.timezone import now
from oauth2_provider.settings import oauth2_settings

from accounts.actors import Actor
from accounts.models import (
    Authorization,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthRefreshToken,
    TrustedDevice,
    User,
)
from accounts.services.events import notify
from accounts.services.refs import client_ref, profile_ref
from config.errors import Missing


def note_authorization(user: User, client: OAuthClient, scopes: str) -> None:
    """Remember that the user lets the client act, as what it agreed to last. In the caller's transaction."""
    wanted = {"scopes": scopes, "expiry": _end_of_access(client)}
    Authorization.objects.update_or_create(user=user, client=client, defaults=wanted)


def _end_of_access(client: OAuthClient) -> datetime | None:
    """When what a client gets now is over by itself; None where it may refresh its tokens."""
    if client.client_type != OAuthClient.CLIENT_PUBLIC:
        return None
    code, token = oauth2_settings.AUTHORIZATION_CODE_EXPIRE_SECONDS, oauth2_settings.ACCESS_TOKEN_EXPIRE_SECONDS
    return now() + timedelta(seconds=code + token)


@transaction.atomic
def revoke_app(actor: Actor, app: Authorization) -> None:
    """End all access of a client to this user: codes, access tokens and refresh tokens, from the next request on.

    Raises `Missing` where another request was first.
    """
    deleted, _ = Authorization.objects.filter(pk=app.pk).delete()
    if not deleted:
        raise Missing
    theirs = {"user": app.user, "application": app.client}
    # codes first: one that is being exchanged holds its row, so that what comes of it is there to be deleted next
    OAuthGrant.objects.filter(**theirs).delete()
    OAuthRefreshToken.objects.filter(**theirs).delete()
    OAuthAccessToken.objects.filter(**theirs).delete()
    message = f"{app.client.name} has no access any more."
    notify(actor, "profile_update", profile_ref(app.user), client_ref(app.client), message=message)


@transaction.atomic
def revoke_device(actor: Actor, device: TrustedDevice) -> None:
    """Forget a browser: it is logged out, and has to give the second factor again. Raises `Missing` when gone."""
    user = device.user
    deleted, _ = TrustedDevice.objects.filter(pk=device.pk).delete()
    if not deleted:
        raise Missing
    notify(actor, "profile_update", profile_ref(user), message="A trusted device was revoked.")
