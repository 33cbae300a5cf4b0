"""The permissions of staff roles on accounts and their users, sorted by noun."""

from accounts.models import (
    Account,
    Authorization,
    Message,
    OAuthAccessToken,
    OAuthClient,
    OAuthRefreshToken,
    PersonalToken,
    SecurityKey,
    Ticket,
    TokenLink,
    TrustedDevice,
    User,
)
from config.admin.roles import OPERATOR, SUPPORT, allow

allow(SUPPORT, Account, User, to="add change")
allow(SUPPORT, Ticket, OAuthClient, to="change")
allow(SUPPORT, Message, to="change delete")
allow(
    SUPPORT, Authorization, OAuthAccessToken, OAuthRefreshToken, PersonalToken, SecurityKey, TokenLink,
    TrustedDevice, to="delete",
)  # fmt: skip
# nobody's: to add a TokenLink. Who makes one can open it, and be the customer at once; what support may change of a
# user (an address of mail, a second factor) has an event, and takes the customer's mail to be of use
# mails and codes that do not go out are trouble of the platform as well
allow(OPERATOR, Message, to="change delete")
