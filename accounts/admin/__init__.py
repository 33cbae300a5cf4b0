"""Accounts, users, tokens, OAuth and events for staff. Nothing here shows a secret or a digest of one."""

from accounts.admin import accounts, events, log, oauth, tokens, users

__all__ = ["accounts", "events", "log", "oauth", "tokens", "users"]
