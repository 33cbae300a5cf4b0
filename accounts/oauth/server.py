"""What oauthlib is to serve: the authorization code and refresh token grants, and revocation. Nothing else."""

import re

from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError

S256_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class Server(WebApplicationServer):
    """oauthlib's endpoints: without the implicit, password, client credentials and device grants."""

    def __init__(self, request_validator, *args, **kwargs):
        super().__init__(request_validator, *args, **kwargs)
        self.auth_grant.custom_validators.post_auth.append(require_s256)

    def _raise_on_invalid_client(self, request) -> None:
        """Who may revoke. The contract asks for ``client_id`` and ``token``, no secret: who holds a token may
        end it. A secret that is sent has to be right all the same.
        """
        validator = self.request_validator
        if validator.offers_secret(request):
            known = validator.authenticate_client(request)
        else:
            known = validator.validate_client_id(request.client_id, request)
        if not known:
            raise InvalidClientError(request=request)


def require_s256(request) -> dict:
    """Refuse PKCE's ``plain`` method, and what no SHA-256 can be, before anybody is asked to consent."""
    challenge = request.code_challenge
    if challenge is None:
        return {}
    if request.code_challenge_method != "S256":
        raise InvalidRequestError("code_challenge_method must be S256.", request=request)
    if not S256_CHALLENGE.fullmatch(challenge):
        raise InvalidRequestError("code_challenge is not valid.", request=request)
    return {}
