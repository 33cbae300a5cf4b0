"""Accounts, users, what has access to them, tickets, mails and events for staff.

Nothing here shows a secret or a digest of one.
"""

from accounts.admin import access, accounts, events, log, oauth, outbox, tickets, tokens, users

__all__ = ["access", "accounts", "events", "log", "oauth", "outbox", "tickets", "tokens", "users"]
