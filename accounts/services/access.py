"""A user's authorized apps, their tokens, and remembered browsers: recording and revoking them."""

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
from accounts.scopes import parse_scopes
from accounts.services.events import record_event
from accounts.services.refs import client_ref, profile_ref
from config.errors import Missing


def note_authorization(user: User, client: OAuthClient, scopes: str) -> None:
    """Record that the user authorized the client for `scopes` (space-separated). In the caller's transaction.

    The scopes add up until the user revokes the app: a later consent to fewer scopes does not end the tokens of an
    earlier one.
    """
    given = {"scopes": scopes, "expiry": _end_of_access(client)}
    rows = Authorization.objects.select_for_update()
    known, created = rows.get_or_create(user=user, client=client, defaults=given)
    if created:
        return
    if known.expiry is None or known.expiry > now():
        given["scopes"] = " ".join(parse_scopes(f"{known.scopes} {scopes}"))
    Authorization.objects.filter(pk=known.pk).update(**given)


def _end_of_access(client: OAuthClient) -> datetime | None:
    """The time at which access given to a client now ends by itself; None where it may refresh its tokens."""
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
    end_tokens(user=app.user, application=app.client)
    message = f"{app.client.name} has no access any more."
    record_event(actor, "profile_update", profile_ref(app.user), client_ref(app.client), message=message)


@transaction.atomic
def revoke_token(actor: Actor, token: OAuthAccessToken | OAuthRefreshToken) -> None:
    """End one token of a client, and the access or refresh token that was given with it.

    Locks the refresh token first, as its exchange does. Raises `Missing` where the token has ended, or was
    exchanged for another.
    """
    tied = {"pk": token.pk} if isinstance(token, OAuthRefreshToken) else {"access_token_id": token.pk}
    refresh = OAuthRefreshToken.objects.select_for_update().filter(revoked=None, **tied).first()
    if refresh is not None:
        refresh.revoke()
    elif isinstance(token, OAuthRefreshToken) or not OAuthAccessToken.objects.filter(pk=token.pk).delete()[0]:
        raise Missing
    message = f"A token of {token.application.name} was revoked."
    record_event(actor, "profile_update", profile_ref(token.user), client_ref(token.application), message=message)


def end_tokens(**whose: User | OAuthClient) -> int:
    """Delete all codes and tokens of a user, a client or both, in the caller's transaction. Returns the number of
    access and refresh tokens deleted.

    A request that exchanges a code or refresh token holds a lock on its row. So codes are deleted and refresh
    tokens locked first: the tokens that such requests wrote meanwhile are there to be deleted next.
    """
    OAuthGrant.objects.filter(**whose).delete()
    refresh = OAuthRefreshToken.objects.filter(**whose)
    list(refresh.select_for_update().order_by("pk").values_list("pk"))
    rows = (refresh, OAuthAccessToken.objects.filter(**whose))
    return sum(found.delete()[1].get(found.model._meta.label, 0) for found in rows)


@transaction.atomic
def revoke_device(actor: Actor, device: TrustedDevice) -> None:
    """Forget a browser: its sessions end, and its user has to give the second factor there again.

    Raises `Missing` where another request was first.
    """
    user = device.user
    deleted, _ = TrustedDevice.objects.filter(pk=device.pk).delete()
    if not deleted:
        raise Missing
    if user.account_id is not None:  # staff are on no account, so they have no events
        record_event(actor, "profile_update", profile_ref(user), message="A trusted device was revoked.")
