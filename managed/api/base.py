"""What all endpoints of managed have in common."""

from typing import TypeVar

from django.db.models import Model

from accounts.actors import Actor
from accounts.models import Account
from config.api.views import ResourceViewSet
from config.errors import Denied

READ = "account:read_only"
WRITE = "account:read_write"
NOT_ENABLED = "Managed is not enabled on this account: POST /account/settings/managed-enable enables it."

M = TypeVar("M", bound=Model)


class ManagedViewSet(ResourceViewSet[Actor, M]):
    """Refuses accounts that have not enabled managed."""

    def authorize(self) -> None:
        super().authorize()
        if not Account.objects.filter(pk=self.actor.account_id, managed=True).exists():
            raise Denied(NOT_ENABLED)
