"""A user's authorized apps, their tokens, and remembered browsers: recording and revoking them."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest, Now
from django.utils.timezone import now
from oauth2_provider.settings import oauth2_settings

from accounts.actors import Actor
from accounts.models import (
    Authorization,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthRefreshToken,
    PersonalToken,
    TokenLink,
    TrustedDevice,
    User,
)
from accounts.scopes import parse_scopes
from accounts.services.events import record_event
from accounts.services.refs import client_ref, profile_ref, user_ref
from config.errors import Missing


def lock_authorization(user: User, client: OAuthClient) -> Authorization:
    """Lock the row of a client's access to a user, for a transaction that creates tokens and then calls `settle`.

    If there is no row, it is created. Its access has then already ended. The user's row is locked first, as by the
    user's deletion.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    rows = Authorization.objects.select_for_update(no_key=True)
    return rows.get_or_create(user=user, client=client, defaults={"scopes": "", "expiry": now()})[0]


def lock_authorizations(**whose: Any) -> list[Authorization]:
    """Lock rows of access, in the order of their keys, for a transaction that ends tokens and then calls `settle`.

    `whose` are conditions on `Authorization`.
    """
    rows = Authorization.objects.filter(**whose).select_for_update(no_key=True)
    return list(rows.order_by("pk"))


def add_scopes(authorization: Authorization, scopes: str) -> None:
    """Add the space-separated scopes that the user has agreed to now. `authorization` is locked.

    Scopes add up as long as there is access: a later consent to fewer scopes does not end the tokens of an earlier
    one. After the access has ended, the client starts again.
    """
    values: dict[str, Any] = {"scopes": " ".join(parse_scopes(f"{authorization.scopes} {scopes}"))}
    if authorization.expiry is not None and authorization.expiry <= now():
        values = {"scopes": scopes, "created": now()}
    Authorization.objects.filter(pk=authorization.pk).update(**values)


def settle(authorizations: Sequence[Authorization]) -> None:
    """Write when the access of each row ends: with its last valid token.

    Call it after tokens were created or ended, in the transaction that locks the rows. Rows without a valid token
    are deleted. Personal tokens that the clients created end with the access, and never last longer. An earlier end
    applies to them too, a later one does not.
    """
    rows = Authorization.objects.filter(pk__in=[each.pk for each in authorizations])
    rows.update(expiry=_end_of_access())
    over = rows.filter(expiry=None)
    mine = {"user": OuterRef("user"), "client": OuterRef("client")}
    theirs = PersonalToken.objects.filter(
        user__in={each.user_id for each in authorizations}, client__in={each.client_id for each in authorizations}
    )
    theirs.filter(Exists(over.filter(**mine))).delete()
    over.delete()
    end = Subquery(rows.filter(**mine).values("expiry"))
    theirs.annotate(end=end).filter(Q(expiry=None) | Q(expiry__gt=F("end"))).update(expiry=end)


def _end_of_access() -> Combinable:
    """Return an expression for the end of the last valid token of an authorization. Null if there is no valid
    token.

    A refresh token ends some time after the access token that was issued with it. The refresh tokens of a client
    that became public cannot be used.
    """
    theirs = {"user": OuterRef("user"), "application": OuterRef("client")}
    idle = timedelta(seconds=oauth2_settings.REFRESH_TOKEN_EXPIRE_SECONDS)
    access = OAuthAccessToken.objects.filter(**theirs, expires__gt=Now()).order_by("-expires")
    refresh = OAuthRefreshToken.objects.filter(
        **theirs,
        revoked=None,
        access_token__expires__gt=Now() - idle,
        application__client_type=OAuthClient.CLIENT_CONFIDENTIAL,
    ).order_by("-access_token__expires")
    return Greatest(
        Subquery(access.values("expires")[:1]),
        ExpressionWrapper(
            Subquery(refresh.values("access_token__expires")[:1]) + idle, output_field=DateTimeField()
        ),
    )


@transaction.atomic
def revoke_app(actor: Actor, app: Authorization) -> None:
    """End all access of a client to this user, from the next request on.

    Codes, access tokens, refresh tokens, and the personal tokens that the client created end. Raises `Missing` if
    another request was first.
    """
    deleted, _ = Authorization.objects.filter(pk=app.pk).delete()
    if not deleted:
        raise Missing
    end_tokens(app.client, app.user)
    message = f"{app.client.name} has no access any more."
    record_event(actor, "profile_update", profile_ref(app.user), client_ref(app.client), message=message)


@transaction.atomic
def revoke_token(actor: Actor, token: OAuthAccessToken | OAuthRefreshToken) -> None:
    """End one token of a client, and the access or refresh token that was issued with it.

    Locks the refresh token before the other, as its exchange does. Raises `Missing` if the token has ended, or was
    exchanged for another.
    """
    authorizations = lock_authorizations(user=token.user, client=token.application)
    tied = {"pk": token.pk} if isinstance(token, OAuthRefreshToken) else {"access_token_id": token.pk}
    refresh = OAuthRefreshToken.objects.select_for_update().filter(revoked=None, **tied).first()
    if refresh is not None:
        refresh.revoke()
    elif isinstance(token, OAuthRefreshToken) or not OAuthAccessToken.objects.filter(pk=token.pk).delete()[0]:
        raise Missing
    settle(authorizations)
    message = f"A token of {token.application.name} was revoked."
    record_event(actor, "profile_update", profile_ref(token.user), client_ref(token.application), message=message)


def end_tokens(client: OAuthClient, user: User | None = None) -> int:
    """Delete all codes and tokens of a client, or those for one user, in the caller's transaction. Return the
    number of tokens.

    A request that exchanges a code or refresh token holds a lock on its row. So codes are deleted and refresh
    tokens locked first. Then the tokens that such requests have written meanwhile are deleted too.
    """
    whose = {} if user is None else {"user": user}
    OAuthGrant.objects.filter(application=client, **whose).delete()
    refresh = OAuthRefreshToken.objects.filter(application=client, **whose)
    list(refresh.select_for_update().order_by("pk").values_list("pk"))
    access = OAuthAccessToken.objects.filter(application=client, **whose)
    personal = PersonalToken.objects.filter(client=client, **whose)
    return sum(found.delete()[1].get(found.model._meta.label, 0) for found in (refresh, access, personal))


def lock_users(account_id: int) -> list[int]:
    """Lock the users of an account until the end of the caller's transaction, and return their ids.

    They are locked before the account.
    """
    users = User.objects.filter(account_id=account_id)
    return list(users.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def end_sessions(user_ids: Collection[int]) -> None:
    """End all sessions of the users for good, and forget their browsers. The caller has locked the users."""
    User.objects.filter(pk__in=user_ids).update(logged_out=F("logged_out") + 1)
    TrustedDevice.objects.filter(user__in=user_ids).delete()


@transaction.atomic
def log_out(actor: Actor | None, user: User, reason: str, *, tokens: bool) -> None:
    """End all sessions of the user and forget its browsers. With `tokens`, also end all its tokens and its apps'
    access.

    For staff. `actor` is None for a user without an account, who has no events. Writes ``user_update``.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    end_sessions([user.pk])
    if tokens:
        for app in lock_authorizations(user=user):
            end_tokens(app.client, user)
        Authorization.objects.filter(user=user).delete()
        PersonalToken.objects.filter(user=user).delete()
        TokenLink.objects.filter(user=user).delete()
    if actor is not None:
        ended = "Support ended all sessions and tokens" if tokens else "Support ended all sessions"
        record_event(actor, "user_update", user_ref(user), message=f"{ended}: {reason}")


@transaction.atomic
def revoke_device(actor: Actor, device: TrustedDevice) -> None:
    """Forget a browser: its sessions end, and its user needs the second factor there again.

    Raises `Missing` if another request was first.
    """
    user = device.user
    deleted, _ = TrustedDevice.objects.filter(pk=device.pk).delete()
    if not deleted:
        raise Missing
    if user.account_id is not None:  # staff are on no account, so they have no events
        record_event(actor, "profile_update", profile_ref(user), message="A remembered browser was removed.")
