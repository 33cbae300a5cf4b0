"""The scopes and permissions that all endpoints of managed monitoring share."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.models import Account
from config.api.permissions import HasGrant, HasScope
from config.errors import Denied

READ = "account:read_only"
WRITE = "account:read_write"
NOT_ENABLED = "Managed is not enabled on this account: POST /account/settings/managed-enable enables it."


class ManagedIsEnabled(BasePermission):
    """Allows users of accounts that have enabled managed monitoring.

    Raises `Denied` (403), with a reason that says how to enable it.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not Account.objects.filter(pk=view.actor.account_id, managed=True).exists():
            raise Denied(NOT_ENABLED)
        return True


MANAGED = (HasScope, HasGrant, ManagedIsEnabled)
"""The permissions of all views of managed monitoring."""
