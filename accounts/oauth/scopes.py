"""The contract's scopes, behind the toolkit's interface."""

from typing import Any

from oauth2_provider.scopes import BaseScopes
from oauthlib.common import Request as OAuthRequest

from accounts.models import OAuthClient
from accounts.scopes import KNOWN, describe
from config import word


class ContractScopes(BaseScopes):
    """Every client may request every scope. A client that requests none gets none."""

    def get_all_scopes(self) -> dict[str, str]:
        return {word.on_wire(scope): describe(scope) for scope in sorted(KNOWN)}

    def get_available_scopes(
        self, application: OAuthClient | None = None, request: OAuthRequest | None = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        return sorted(map(word.on_wire, KNOWN))

    def get_default_scopes(
        self, application: OAuthClient | None = None, request: OAuthRequest | None = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        return []
