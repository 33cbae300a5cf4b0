"""The toolkit's request validator, made to keep the contract's rules and to be exact under concurrency."""

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError

from accounts.models import OAuthClient, OAuthGrant, OAuthRefreshToken, User
from accounts.scopes import includes, parse_scopes, split_scopes

AUTHORIZATION_CODE, REFRESH_TOKEN = "authorization_code", "refresh_token"


def may_authorize(user: User | AnonymousUser) -> bool:
    """Whether the user can let apps act: active, on an active account. Staff without an account cannot."""
    return isinstance(user, User) and user.is_active and user.account is not None and user.account.is_active


def is_public(client: OAuthClient) -> bool:
    return client.client_type == OAuthClient.CLIENT_PUBLIC


class Validator(OAuth2Validator):
    """See the toolkit's. Clients that are not active are unknown everywhere (`OAuthClient.is_usable`)."""

    def _load_application(self, client_id, request):
        # PostgreSQL has no text with a NUL in it, and psycopg says so with an error the toolkit does not expect.
        if client_id and "\x00" in client_id:
            return None
        return super()._load_application(client_id, request)

    def offers_secret(self, request) -> bool:
        """Whether the client tries to authenticate itself, in the header or in the body."""
        return bool(self._extract_basic_auth(request) or request.client_secret)

    # --- What may be asked for ------------------------------------------------------------------------------

    def is_pkce_required(self, client_id, request) -> bool:
        """Of public clients. Confidential ones authenticate by their secret; PKCE is checked if they use it."""
        return is_public(request.client)

    def validate_grant_type(self, client_id, grant_type, client, request, *args, **kwargs) -> bool:
        """Only confidential clients refresh: nothing ties a public client's refresh token to that client."""
        if grant_type == REFRESH_TOKEN and is_public(client):
            return False
        return grant_type in (AUTHORIZATION_CODE, REFRESH_TOKEN) and client.allows_grant_type(
            OAuthClient.GRANT_AUTHORIZATION_CODE
        )

    def validate_scopes(self, client_id, scopes, client, request, *args, **kwargs) -> bool:
        """Separated by spaces or commas on their way in; `request` keeps them one by one."""
        try:
            request.scopes = list(parse_scopes(" ".join(scopes)))
        except ValueError:
            return False
        return True

    def is_within_original_scope(self, request_scopes, refresh_token, request, *args, **kwargs) -> bool:
        """Whether a refresh asks for no more than before. What it asks for is what the next one may."""
        try:
            wanted = parse_scopes(" ".join(request_scopes))
        except ValueError:
            return False
        request.scopes = list(wanted)
        return includes(split_scopes(self.get_original_scopes(refresh_token, request)), wanted)

    def _check_and_set_request_resource(self, request) -> None:
        """RFC 8707's ``resource`` is ignored, as that RFC allows: tokens here are for one API."""
        request.resource = []

    # --- Codes and tokens -----------------------------------------------------------------------------------

    def _create_authorization_code(self, request, code, expires=None):
        # OpenID Connect's parameters, which nothing here reads: what a client sends for them is not kept.
        request.nonce, request.claims, request.resource = "", {}, []
        return super()._create_authorization_code(request, code, expires)

    def validate_code(self, client_id, code, client, request, *args, **kwargs) -> bool:
        """Whether the code is the client's, has time left, and its user can still act.

        A verifier for a code that was asked for without a challenge is refused: somebody took the challenge
        out of the authorization request. The code's row is kept on `request`, so that the later checks are of
        the same state, whatever another request with this code does meanwhile.
        """
        grant = OAuthGrant.objects.filter(code=code, application=client).select_related("user__account").first()
        if grant is None or grant.is_expired() or not may_authorize(grant.user):
            return False
        if request.code_verifier and not grant.code_challenge:
            return False
        request.grant, request.user, request.scopes = grant, grant.user, grant.scope.split()
        return True

    def get_code_challenge(self, code, request) -> str | None:
        return request.grant.code_challenge or None

    def get_code_challenge_method(self, code, request) -> str | None:
        return request.grant.code_challenge_method or None

    def confirm_redirect_uri(self, client_id, code, redirect_uri, client, request, *args, **kwargs) -> bool:
        return request.grant.redirect_uri_allowed(redirect_uri)

    def validate_refresh_token(self, refresh_token, client, request, *args, **kwargs) -> bool:
        """As the toolkit's, and the user can still act."""
        found = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return found and may_authorize(request.user)

    def save_bearer_token(self, token, request, *args, **kwargs) -> None:
        """Save the tokens and spend the code or refresh token they are for, all of it or nothing.

        Of several requests with one code or one refresh token, the first to lock its row wins. The toolkit
        would save tokens for all of them, and answer the losers with those of the winner, which it cannot:
        they are not stored. Losing with a refresh token is using it twice, which ends its family.

        Raises `InvalidGrantError` for the losers.
        """
        if is_public(request.client):
            token.pop("refresh_token", None)
        with transaction.atomic():
            unspent = self._unspent(request)
            won = unspent.select_for_update().first() is not None
            if won:
                super().save_bearer_token(token, request, *args, **kwargs)
                if request.grant_type == AUTHORIZATION_CODE:
                    unspent.delete()
        if won:
            return
        if request.grant_type == REFRESH_TOKEN:
            OAuthRefreshToken.revoke_family(request.refresh_token_instance.token_family)
        raise InvalidGrantError(request=request)

    def _unspent(self, request) -> QuerySet:
        if request.grant_type == REFRESH_TOKEN:
            return OAuthRefreshToken.objects.filter(pk=request.refresh_token_instance.pk, revoked=None)
        return OAuthGrant.objects.filter(pk=request.grant.pk)

    def invalidate_authorization_code(self, client_id, code, request, *args, **kwargs) -> None:
        """Nothing: `save_bearer_token` did, in the transaction that saved the token."""
