"""The endpoints of oauthlib that are served.

They are the authorization code and refresh token grants, the implicit grant if it is switched on, revocation and
introspection. There are no others.
"""

import re
from typing import Any

from django.conf import settings
from oauthlib.common import Request as OAuthRequest
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.errors import InvalidClientError, InvalidGrantError, InvalidRequestError
from oauthlib.oauth2.rfc6749.grant_types import AuthorizationCodeGrant, ImplicitGrant

from accounts.oauth.validator import Validator
from accounts.redirects import with_answer

S256_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class KeepingTheAddress:
    """A grant whose answers do not change the redirect address: oauthlib would write its query again."""

    default_response_mode: str

    def prepare_authorization_response(
        self, request: OAuthRequest, token: dict[str, str], headers: dict[str, str], body: str | None, status: int
    ) -> tuple[dict[str, str], str | None, int]:
        fragment = self.default_response_mode == "fragment"
        headers["Location"] = with_answer(request.redirect_uri, token.items(), fragment)
        return headers, body, status


class CodeGrant(KeepingTheAddress, AuthorizationCodeGrant):
    """The authorization code grant."""

    def validate_code_challenge(self, challenge: str, challenge_method: str, verifier: str) -> bool:
        if not super().validate_code_challenge(challenge, challenge_method, verifier):
            raise InvalidGrantError("code_verifier does not fit the code_challenge of the authorization request.")
        return True


class TokenGrant(KeepingTheAddress, ImplicitGrant):
    """The implicit grant."""


class Server(WebApplicationServer):
    """oauthlib's endpoints: without the password, client credentials and device grants."""

    def __init__(self, request_validator: Validator, *args: Any, **kwargs: Any):
        super().__init__(request_validator, *args, **kwargs)
        self.auth_grant = CodeGrant(request_validator)
        self.auth_grant.custom_validators.post_auth.append(require_s256)
        self._response_types["code"] = self._grant_types["authorization_code"] = self.auth_grant
        self.implicit_grant = TokenGrant(request_validator)

    @property
    def response_types(self) -> dict:
        """Return the response types of ``/oauth/authorize``: codes, and tokens if OAUTH_IMPLICIT allows them."""
        return super().response_types | ({"token": self.implicit_grant} if settings.OAUTH_IMPLICIT else {})

    def validate_introspect_request(self, request: OAuthRequest) -> None:
        """Admit only confidential clients that authenticate with their secret."""
        self._raise_on_bad_method(request)
        if not self.request_validator.authenticate_confidential(request):
            raise InvalidClientError(request=request)
        self._raise_on_missing_token(request)

    def _raise_on_invalid_client(self, request: OAuthRequest) -> None:
        """Check the client of a revocation.

        The contract requires ``client_id`` and ``token`` and no secret: the holder of a token may revoke it. If a
        secret is sent, it must be right.
        """
        validator = self.request_validator
        if validator.offers_secret(request):
            known = validator.authenticate_client(request)
        else:
            known = validator.validate_client_id(request.client_id, request)
        if not known:
            raise InvalidClientError(request=request)


def require_s256(request: OAuthRequest) -> dict:
    """Refuse PKCE's ``plain`` method, and challenges that are not SHA-256, before the user is asked for consent."""
    challenge = request.code_challenge
    if challenge is None:
        return {}
    if request.code_challenge_method != "S256":
        raise InvalidRequestError("code_challenge_method must be S256.", request=request)
    if not S256_CHALLENGE.fullmatch(challenge):
        raise InvalidRequestError("code_challenge is not valid.", request=request)
    return {}
