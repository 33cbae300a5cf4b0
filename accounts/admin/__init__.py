"""Accounts, users, their tokens and logins, tickets, mails and events for staff.

No page shows a secret or the digest of one.
"""

from accounts.admin import (
    access,
    accounts,
    board,
    events,
    log,
    oauth,
    outbox,
    quotas,
    roles,
    search,
    security_keys,
    tickets,
    token_links,
    tokens,
    users,
)

__all__ = [
    "access",
    "accounts",
    "board",
    "events",
    "log",
    "oauth",
    "outbox",
    "quotas",
    "roles",
    "search",
    "security_keys",
    "tickets",
    "token_links",
    "tokens",
    "users",
]
