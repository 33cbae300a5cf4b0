"""The toolkit's request validator, with the contract's rules, and correct under concurrency."""

import hashlib
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request as OAuthRequest
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError

from accounts.models import OAuthAccessToken, OAuthClient, OAuthGrant, OAuthRefreshToken, User
from accounts.redirects import is_registered
from accounts.scopes import includes, read_scopes, split_scopes
from accounts.services import access
from config import word

AUTHORIZATION_CODE, REFRESH_TOKEN, TOKEN = "authorization_code", "refresh_token", "token"
BAD_CODE = "The code is unknown, used, older than a minute, or of another client, or its user was suspended."
BAD_REFRESH_TOKEN = (
    "The refresh token is unknown, used, revoked, expired, or of another client, or its user was suspended."
)


def may_authorize(user: User | AnonymousUser) -> bool:
    """Tell whether the user can authorize apps: active, on an active account. Staff without an account cannot."""
    return isinstance(user, User) and user.is_active and user.account is not None and user.account.is_active


def is_public(client: OAuthClient) -> bool:
    return client.client_type == OAuthClient.CLIENT_PUBLIC


def _takes_codes(client: OAuthClient) -> bool:
    return client.allows_grant_type(OAuthClient.GRANT_AUTHORIZATION_CODE)


def _checksum(token: str) -> str:
    """Return the value by which the row of an access or refresh token is found."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _given(token: dict) -> dict[str, Any]:
    """Return the values by which a spent code's row names the tokens that were saved for the code."""
    given = OAuthAccessToken.objects.get(token_checksum=_checksum(token["access_token"]))
    family = OAuthRefreshToken.objects.filter(access_token=given).values_list("token_family", flat=True).first()
    return {"access_token": given, "token_family": family}


@transaction.atomic
def _end_all_of(code: OAuthGrant) -> None:
    """End all tokens of a code that was used twice (RFC 6749, 4.1.2), including refreshed ones."""
    authorizations = access.lock_authorizations(user=code.user_id, client=code.application_id)
    spent = OAuthGrant.objects.filter(pk=code.pk, spent=True).first()
    if spent is not None:
        OAuthRefreshToken.revoke_family(spent.token_family)
        OAuthAccessToken.objects.filter(pk=spent.access_token_id).delete()
    access.settle(authorizations)


@transaction.atomic
def _end_family_of(token: OAuthRefreshToken) -> None:
    """End all tokens that came from the same code as a refresh token that was used twice."""
    authorizations = access.lock_authorizations(user=token.user_id, client=token.application_id)
    OAuthRefreshToken.revoke_family(token.token_family)
    access.settle(authorizations)


class Validator(OAuth2Validator):
    """The toolkit's validator. Inactive clients are unknown to it everywhere (`OAuthClient.is_usable`)."""

    def _load_application(self, client_id: str | None, request: OAuthRequest) -> OAuthClient | None:
        """Load the client as the toolkit does, in one query with the account, which `is_usable` reads."""
        client = request.client
        if not isinstance(client, OAuthClient) or client.client_id != client_id:
            # PostgreSQL stores no text with a NUL: psycopg raises an error.
            asked = "" if not client_id or "\x00" in client_id else client_id
            client = OAuthClient.objects.filter(client_id=asked).select_related("account").first()
        request.client = client if client is not None and client.is_usable(request) else None
        return request.client

    def offers_secret(self, request: OAuthRequest) -> bool:
        """Tell whether the client tries to authenticate itself, in the header or in the body."""
        return bool(self._extract_basic_auth(request) or request.client_secret)

    def authenticate_confidential(self, request: OAuthRequest) -> bool:
        """Tell whether the request comes from a confidential client, with its secret."""
        return self.authenticate_client(request) and not is_public(request.client)

    # --- Checks of requests ---------------------------------------------------------------------------------

    def is_pkce_required(self, client_id: str, request: OAuthRequest) -> bool:
        """Require PKCE only of public clients.

        Confidential clients authenticate with a secret. Their PKCE is checked if they use it.
        """
        return is_public(request.client)

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Accept a registered address, to whose query the request may have added parameters (`is_registered`)."""
        return is_registered(redirect_uri, request.client.redirect_uris)

    def validate_response_type(
        self,
        client_id: str,
        response_type: str,
        client: OAuthClient,
        request: OAuthRequest,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        """Accept tokens without a code only for public clients.

        They could not authenticate to exchange a code anyway.
        """
        if response_type == TOKEN:
            return settings.OAUTH_IMPLICIT and is_public(client) and _takes_codes(client)
        return response_type == "code" and _takes_codes(client)

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Accept refreshing only for confidential clients: nothing ties a public client's refresh token to the
        client.
        """
        if grant_type == REFRESH_TOKEN and is_public(client):
            return False
        return grant_type in (AUTHORIZATION_CODE, REFRESH_TOKEN) and _takes_codes(client)

    def validate_scopes(
        self,
        client_id: str,
        scopes: list[str],
        client: OAuthClient,
        request: OAuthRequest,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        """Tell whether all scopes, separated by spaces or commas, are known. `request` receives them as a list."""
        try:
            request.scopes = list(read_scopes(" ".join(scopes)))
        except ValueError:
            return False
        return True

    def get_original_scopes(self, refresh_token: str, request: OAuthRequest, *args: Any, **kwargs: Any) -> Any:
        """Return the scopes of the token that is refreshed.

        With another word, oauthlib must not compare requested scopes with them, which are neutral: then it asks
        `is_within_original_scope`.
        """
        return "" if word.IS_SET and request.scope else super().get_original_scopes(refresh_token, request)

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Tell whether a refresh requests no scopes beyond the token's.

        The new tokens get only the requested scopes.
        """
        try:
            wanted = read_scopes(" ".join(request_scopes))
        except ValueError:
            return False
        request.scopes = list(wanted)
        return includes(split_scopes(super().get_original_scopes(refresh_token, request)), wanted)

    def _check_and_set_request_resource(self, request: OAuthRequest) -> None:
        """Ignore ``resource`` of RFC 8707, as that RFC allows: tokens here are for one API."""
        request.resource = []

    # --- Codes and tokens -----------------------------------------------------------------------------------

    def _create_authorization_code(
        self, request: OAuthRequest, code: dict[str, str], expires: datetime | None = None
    ) -> OAuthGrant:
        # OpenID Connect's parameters, which nothing here reads: a client's values for them are not stored.
        request.nonce, request.claims, request.resource = "", {}, []
        grant = super()._create_authorization_code(request, code, expires)
        if request.using_default_redirect_uri:
            # The token endpoint requires the address only if this request named it.
            OAuthGrant.objects.filter(pk=grant.pk).update(redirect_uri="")
        return grant

    def validate_code(
        self, client_id: str, code: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Tell whether the code belongs to the client and is valid, and whether its user can still act.

        Raises `InvalidGrantError` otherwise. A verifier for a code without a challenge is refused: an attacker may
        have removed the challenge from the authorization request.

        The code's row is stored on `request`, so that later checks read the same state, whatever another request
        with this code does meanwhile.
        """
        grant = OAuthGrant.objects.filter(code=code, application=client).select_related("user__account").first()
        if grant is None or grant.is_expired() or not may_authorize(grant.user):
            raise InvalidGrantError(BAD_CODE, request=request)
        if grant.spent:
            _end_all_of(grant)
            raise InvalidGrantError(BAD_CODE, request=request)
        if request.code_verifier and not grant.code_challenge:
            reason = "code_verifier was sent, and no code_challenge with the authorization request."
            raise InvalidGrantError(reason, request=request)
        request.grant, request.user, request.scopes = grant, grant.user, grant.scope.split()
        return True

    def get_code_challenge(self, code: str, request: OAuthRequest) -> str | None:
        return request.grant.code_challenge or None

    def get_code_challenge_method(self, code: str, request: OAuthRequest) -> str | None:
        return request.grant.code_challenge_method or None

    def confirm_redirect_uri(
        self,
        client_id: str,
        code: str,
        redirect_uri: str,
        client: OAuthClient,
        request: OAuthRequest,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        """Tell whether the address is the one that the authorization request named, additions included.

        If that request named none, it must be the client's own, or none again (RFC 6749, 4.1.3). Raises
        `InvalidGrantError` otherwise.
        """
        named = request.grant.redirect_uri
        if request.using_default_redirect_uri and named:
            raise InvalidGrantError("redirect_uri is required, as in the authorization request.", request=request)
        if not request.using_default_redirect_uri and redirect_uri != (named or request.client.redirect_uris):
            raise InvalidGrantError("redirect_uri is not that of the authorization request.", request=request)
        return True

    def get_default_redirect_uri(self, client_id: str, request: OAuthRequest, *args: Any, **kwargs: Any) -> str:
        """Return the client's only address, for requests that name none.

        At the token endpoint `confirm_redirect_uri` decides what a missing address means, whatever the number of
        addresses.
        """
        if request.grant_type == AUTHORIZATION_CODE:
            return request.client.redirect_uris
        return super().get_default_redirect_uri(client_id, request, *args, **kwargs)

    def validate_refresh_token(
        self, refresh_token: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Validate as the toolkit does, and check that the user can still act.

        Raises `InvalidGrantError` otherwise.
        """
        found = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        if found and may_authorize(request.user):
            return True
        used = OAuthRefreshToken.objects.filter(token_checksum=_checksum(refresh_token), revoked__isnull=False)
        for token in used:
            _end_family_of(token)  # done as in the toolkit, which knows nothing of authorizations
        raise InvalidGrantError(BAD_REFRESH_TOKEN, request=request)

    def save_bearer_token(self, token: dict[str, Any], request: OAuthRequest, *args: Any, **kwargs: Any) -> None:
        """Save the tokens and spend the code or refresh token that they are issued for, all or nothing.

        Also write when the client's access to the user now ends. Of several requests with one code or one refresh
        token, the first to lock its row wins. The toolkit would save tokens for all of them, and answer the losers
        with the winner's tokens. This is impossible here: only checksums are stored.

        A loser has used the code or token twice, which ends all tokens that came from it. Raises
        `InvalidGrantError` for the losers.
        """
        if is_public(request.client):
            token.pop("refresh_token", None)
        refresh_token = getattr(request, "refresh_token_instance", None)  # saving removes it
        with transaction.atomic():
            authorization = access.lock_authorization(request.user, request.client)
            # the implicit grant spends no code or token
            unspent = None if request.response_type == TOKEN else self._unspent(request)
            won = unspent is None or unspent.select_for_update().first() is not None
            if won:
                super().save_bearer_token(token, request, *args, **kwargs)
                if request.grant_type != REFRESH_TOKEN:
                    access.add_scopes(authorization, token["scope"])
                if unspent is not None and request.grant_type == AUTHORIZATION_CODE:
                    unspent.update(spent=True, **_given(token))
            access.settle([authorization])
        if won:
            token["scope"] = word.on_wire(token["scope"])  # of the answer
            return
        if refresh_token is not None:
            _end_family_of(refresh_token)
            raise InvalidGrantError(BAD_REFRESH_TOKEN, request=request)
        _end_all_of(request.grant)
        raise InvalidGrantError(BAD_CODE, request=request)

    def revoke_token(
        self, token: str, token_type_hint: str | None, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> None:
        """Revoke as the toolkit does, and write when the client's access to the user now ends."""
        mine = {"token_checksum": _checksum(token), "application": request.client}
        users = {
            user
            for rows in (OAuthAccessToken.objects, OAuthRefreshToken.objects)
            for user in rows.filter(**mine).values_list("user_id", flat=True)
        }
        with transaction.atomic():
            authorizations = access.lock_authorizations(user__in=users, client=request.client)
            super().revoke_token(token, token_type_hint, request, *args, **kwargs)
            access.settle(authorizations)

    def introspect_token(
        self, token: str, token_type_hint: str | None, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> dict | None:
        """Return the properties of an access token (RFC 7662, 2.2). None if it is invalid or the client may not see
        it.

        A client sees its own tokens and those of other clients of its account, such as an API behind an app of the
        same company. It sees no others, so that it cannot mistake a token for another app for its own. Refresh
        tokens and personal tokens are None too: such an API should never receive one.
        """
        asker = request.client
        theirs = Q(application=asker)
        if asker.account_id is not None:
            theirs |= Q(application__account_id=asker.account_id)
        found = (
            OAuthAccessToken.objects.filter(
                theirs,
                token_checksum=_checksum(token),
                expires__gt=Now(),
                application__status=OAuthClient.Status.ACTIVE,
                user__is_active=True,
                user__account__is_active=True,
            )
            .select_related("user", "application")
            .first()
        )
        if found is None:
            return None
        return {
            "scope": word.on_wire(found.scope),
            "client_id": found.application.client_id,
            "username": found.user.username,
            "sub": str(found.user_id),
            "token_type": "Bearer",
            "iat": int(found.created.timestamp()),
            "exp": int(found.expires.timestamp()),
        }

    def _unspent(self, request: OAuthRequest) -> QuerySet:
        if request.grant_type == REFRESH_TOKEN:
            return OAuthRefreshToken.objects.filter(pk=request.refresh_token_instance.pk, revoked=None)
        return OAuthGrant.objects.filter(pk=request.grant.pk, spent=False)

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> None:
        """Do nothing: `save_bearer_token` spent the code, in the transaction that saved the token."""
