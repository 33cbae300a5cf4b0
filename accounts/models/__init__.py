from accounts.models.access import ExternalIdentity, Login, TrustedDevice
from accounts.models.accounts import Account
from accounts.models.events import Event
from accounts.models.grants import GlobalGrants, Grant, GrantedQuerySet, Level
from accounts.models.oauth import (
    Authorization,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
    Picture,
)
from accounts.models.outbox import Message
from accounts.models.preferences import Preferences
from accounts.models.quotas import ResourceUse, TrustLevel
from accounts.models.security import PhoneVerification, SecondFactor, SecurityAnswer, SecurityKey
from accounts.models.tickets import Ticket, TicketAttachment, TicketReply
from accounts.models.tokens import PersonalToken, TokenLink
from accounts.models.users import SSHKey, User

__all__ = [
    "Account",
    "Authorization",
    "Event",
    "ExternalIdentity",
    "GlobalGrants",
    "Grant",
    "GrantedQuerySet",
    "Level",
    "Login",
    "Message",
    "OAuthAccessToken",
    "OAuthClient",
    "OAuthGrant",
    "OAuthIDToken",
    "OAuthRefreshToken",
    "PersonalToken",
    "PhoneVerification",
    "Picture",
    "Preferences",
    "ResourceUse",
    "SSHKey",
    "SecondFactor",
    "SecurityAnswer",
    "SecurityKey",
    "Ticket",
    "TicketAttachment",
    "TicketReply",
    "TokenLink",
    "TrustLevel",
    "TrustedDevice",
    "User",
]
