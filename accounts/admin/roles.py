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
# No role may add a TokenLink: its author can open it and then act as the customer. Other changes of a user by
# support (a mail address, a second factor) leave an event, and give access only with the customer's mail.
# Mails and codes that are not sent are a problem of the platform as well.
allow(OPERATOR, Message, to="change delete")
