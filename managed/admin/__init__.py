"""Services, issues, credentials and keys, for staff. Secrets are on no page but the answer to Decrypt."""

from managed.admin import attention, contacts, credentials, issues, keys, panels, services

__all__ = ["attention", "contacts", "credentials", "issues", "keys", "panels", "services"]
