"""The toolkit's request validator, with the contract's rules, and exact under concurrency."""

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
from accounts.scopes import includes, parse_scopes, split_scopes

AUTHORIZATION_CODE, REFRESH_TOKEN, TOKEN = "authorization_code", "refresh_token", "token"


def may_authorize(user: User | AnonymousUser) -> bool:
    """Whether the user can let apps act: active, on an active account. Staff without an account cannot."""
    return isinstance(user, User) and user.is_active and user.account is not None and user.account.is_active


def is_public(client: OAuthClient) -> bool:
    return client.client_type == OAuthClient.CLIENT_PUBLIC


def _takes_codes(client: OAuthClient) -> bool:
    return client.allows_grant_type(OAuthClient.GRANT_AUTHORIZATION_CODE)


def _given(token: dict) -> dict[str, Any]:
    """The values by which a spent code's row names the tokens that were saved for the code."""
    checksum = hashlib.sha256(token["access_token"].encode()).hexdigest()
    access = OAuthAccessToken.objects.get(token_checksum=checksum)
    family = OAuthRefreshToken.objects.filter(access_token=access).values_list("token_family", flat=True).first()
    return {"access_token": access, "token_family": family}


def _end_all_of(code: int) -> None:
    """End all tokens of a code that was used a second time (RFC 6749, 4.1.2), refreshed ones included."""
    spent = OAuthGrant.objects.filter(pk=code, spent=True).values("access_token_id", "token_family").first()
    if spent is not None:
        OAuthRefreshToken.revoke_family(spent["token_family"])
        OAuthAccessToken.objects.filter(pk=spent["access_token_id"]).delete()


class Validator(OAuth2Validator):
    """The toolkit's validator, to which inactive clients are unknown everywhere (`OAuthClient.is_usable`)."""

    def _load_application(self, client_id: str | None, request: OAuthRequest) -> OAuthClient | None:
        """As the toolkit's, in one query with the account, which `is_usable` reads."""
        held = request.client
        if not isinstance(held, OAuthClient) or held.client_id != client_id:
            # PostgreSQL takes no text with a NUL in it: psycopg raises an error
            asked = "" if not client_id or "\x00" in client_id else client_id
            held = OAuthClient.objects.filter(client_id=asked).select_related("account").first()
        request.client = held if held is not None and held.is_usable(request) else None
        return request.client

    def offers_secret(self, request: OAuthRequest) -> bool:
        """Whether the client tries to authenticate itself, in the header or in the body."""
        return bool(self._extract_basic_auth(request) or request.client_secret)

    def authenticate_confidential(self, request: OAuthRequest) -> bool:
        """Whether the request is a confidential client's, with its secret."""
        return self.authenticate_client(request) and not is_public(request.client)

    # --- Checks of requests ---------------------------------------------------------------------------------

    def is_pkce_required(self, client_id: str, request: OAuthRequest) -> bool:
        """Only for public clients. Confidential clients authenticate by a secret; their PKCE is checked if used."""
        return is_public(request.client)

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Exactly a registered address: the toolkit would let a request add parameters to its query."""
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
        """Tokens without a code only for public clients, which could not authenticate to exchange a code anyway."""
        if response_type == TOKEN:
            return settings.OAUTH_IMPLICIT and is_public(client) and _takes_codes(client)
        return response_type == "code" and _takes_codes(client)

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Refreshing only for confidential clients: nothing ties a public client's refresh token to the client."""
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
        """Whether all scopes, which spaces or commas separate, are known. `request` keeps them one by one."""
        try:
            request.scopes = list(parse_scopes(" ".join(scopes)))
        except ValueError:
            return False
        return True

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether a refresh asks for no scopes beyond the token's. The new tokens get just the scopes asked for."""
        try:
            wanted = parse_scopes(" ".join(request_scopes))
        except ValueError:
            return False
        request.scopes = list(wanted)
        return includes(split_scopes(self.get_original_scopes(refresh_token, request)), wanted)

    def _check_and_set_request_resource(self, request: OAuthRequest) -> None:
        """RFC 8707's ``resource`` is ignored, as that RFC allows: tokens here are for one API."""
        request.resource = []

    # --- Codes and tokens -----------------------------------------------------------------------------------

    def _create_authorization_code(
        self, request: OAuthRequest, code: dict[str, str], expires: datetime | None = None
    ) -> OAuthGrant:
        # OpenID Connect's parameters, which nothing here reads: a client's values for them are not kept.
        request.nonce, request.claims, request.resource = "", {}, []
        return super()._create_authorization_code(request, code, expires)

    def validate_code(
        self, client_id: str, code: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether the code is the client's, has time left, and its user can still act.

        A verifier for a code without a challenge is refused: an attacker may have removed the challenge from the
        authorization request. The code's row is kept on `request`, so that later checks read the same state,
        whatever another request with this code does meanwhile.
        """
        grant = OAuthGrant.objects.filter(code=code, application=client).select_related("user__account").first()
        if grant is None or grant.is_expired() or not may_authorize(grant.user):
            return False
        if grant.spent:
            _end_all_of(grant.pk)
            return False
        if request.code_verifier and not grant.code_challenge:
            return False
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
        return request.grant.redirect_uri_allowed(redirect_uri)

    def validate_refresh_token(
        self, refresh_token: str, client: OAuthClient, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> bool:
        """As the toolkit's, and whether the user can still act."""
        found = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return found and may_authorize(request.user)

    def save_bearer_token(self, token: dict[str, Any], request: OAuthRequest, *args: Any, **kwargs: Any) -> None:
        """Save the tokens and spend the code or refresh token that they are given for, all or nothing.

        Of several requests with one code or one refresh token, the first to lock its row wins. The toolkit would
        save tokens for all of them, and answer the losers with the winner's tokens, which is impossible here: only
        checksums are stored. A loser has used the code or token twice, which ends all tokens that came of it.

        Raises `InvalidGrantError` for the losers.
        """
        if is_public(request.client):
            token.pop("refresh_token", None)
        if request.response_type == TOKEN:
            # the implicit grant spends no code or token
            super().save_bearer_token(token, request, *args, **kwargs)
            return
        with transaction.atomic():
            unspent = self._unspent(request)
            won = unspent.select_for_update().first() is not None
            if won:
                super().save_bearer_token(token, request, *args, **kwargs)
                if request.grant_type == AUTHORIZATION_CODE:
                    unspent.update(spent=True, **_given(token))
        if won:
            return
        if request.grant_type == REFRESH_TOKEN:
            OAuthRefreshToken.revoke_family(request.refresh_token_instance.token_family)
        else:
            _end_all_of(request.grant.pk)
        raise InvalidGrantError(request=request)

    def introspect_token(
        self, token: str, token_type_hint: str | None, request: OAuthRequest, *args: Any, **kwargs: Any
    ) -> dict | None:
        """The properties of an access token (RFC 7662, 2.2); None where it is invalid or not the client's to see.

        A client sees its own tokens and those of other clients of its account: an API behind an app of the same
        makers. It sees no others, so that it cannot take a token that was given to another app for its own. Refresh
        tokens and personal tokens are None too: such an API should never receive one.
        """
        asker = request.client
        theirs = Q(application=asker)
        if asker.account_id is not None:
            theirs |= Q(application__account_id=asker.account_id)
        found = (
            OAuthAccessToken.objects.filter(
                theirs,
                token_checksum=hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest(),
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
            "scope": found.scope,
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
