"""Random values. Ids and secrets of clients have the contract's format. Tokens are opaque to clients."""

import secrets

from oauth2_provider.generators import BaseHashGenerator
from oauthlib.common import Request as OAuthRequest


class ClientId(BaseHashGenerator):
    """20 hex digits."""

    def hash(self) -> str:
        return secrets.token_hex(10)


class ClientSecret(BaseHashGenerator):
    """64 hex digits."""

    def hash(self) -> str:
        return secrets.token_hex(32)


def token(request: OAuthRequest) -> str:
    """Return an access or refresh token of 64 characters.

    The characters are not hex digits, so that authentication need not look for it among the personal tokens.
    """
    return secrets.token_urlsafe(48)
