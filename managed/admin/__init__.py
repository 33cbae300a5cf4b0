"""Services, issues, credentials and keys, for staff. Only the answer to Decrypt shows a secret."""

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
