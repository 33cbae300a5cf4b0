from accounts.models.accounts import Account
from accounts.models.events import Event
from accounts.models.grants import GlobalGrants, Grant, GrantedQuerySet, Level
from accounts.models.oauth import (
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
)
from accounts.models.tokens import PersonalToken
from accounts.models.users import SSHKey, User

__all__ = [
    "Account",
    "Event",
    "GlobalGrants",
    "Grant",
    "GrantedQuerySet",
    "Level",
    "OAuthAccessToken",
    "OAuthClient",
    "OAuthGrant",
    "OAuthIDToken",
    "OAuthRefreshToken",
    "PersonalToken",
    "SSHKey",
    "User",
]
