"""The endpoints of oauthlib that are served: the authorization code and refresh token grants, the implicit grant
where it is switched on, revocation and introspection. No others."""

import re
from typing import Any

from django.conf import settings
from oauthlib.common import Request as OAuthRequest
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError
from oauthlib.oauth2.rfc6749.grant_types import ImplicitGrant

from accounts.oauth.validator import Validator

S256_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class Server(WebApplicationServer):
    """oauthlib's endpoints: without the password, client credentials and device grants."""

    def __init__(self, request_validator: Validator, *args: Any, **kwargs: Any):
        super().__init__(request_validator, *args, **kwargs)
        self.auth_grant.custom_validators.post_auth.append(require_s256)
        self.implicit_grant = ImplicitGrant(request_validator)

    @property
    def response_types(self) -> dict:
        """The response types of ``/oauth/authorize``: codes, and tokens where OAUTH_IMPLICIT allows them."""
        return super().response_types | ({"token": self.implicit_grant} if settings.OAUTH_IMPLICIT else {})

    def validate_introspect_request(self, request: OAuthRequest) -> None:
        """Admit only confidential clients that authenticate by their secret."""
        self._raise_on_bad_method(request)
        if not self.request_validator.authenticate_confidential(request):
            raise InvalidClientError(request=request)
        self._raise_on_missing_token(request)

    def _raise_on_invalid_client(self, request: OAuthRequest) -> None:
        """Check the client of a revocation. The contract asks for ``client_id`` and ``token``, no secret: the
        holder of a token may end it. A secret that is sent has to be right all the same.
        """
        validator = self.request_validator
        if validator.offers_secret(request):
            known = validator.authenticate_client(request)
        else:
            known = validator.validate_client_id(request.client_id, request)
        if not known:
            raise InvalidClientError(request=request)


def require_s256(request: OAuthRequest) -> dict:
    """Refuse PKCE's ``plain`` method, and challenges that are no SHA-256, before a user is asked to consent."""
    challenge = request.code_challenge
    if challenge is None:
        return {}
    if request.code_challenge_method != "S256":
        raise InvalidRequestError("code_challenge_method must be S256.", request=request)
    if not S256_CHALLENGE.fullmatch(challenge):
        raise InvalidRequestError("code_challenge is not valid.", request=request)
    return {}
