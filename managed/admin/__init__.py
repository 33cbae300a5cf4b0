"""Services, issues, credentials and keys, for staff. Secrets are on no page but the answer to Decrypt."""

from managed.admin import attention, board, contacts, credentials, issues, keys, panels, roles, search, services

__all__ = [
    "attention",
    "board",
    "contacts",
    "credentials",
    "issues",
    "keys",
    "panels",
    "roles",
    "search",
    "services",
]
