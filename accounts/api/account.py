"""The account as a whole: the customer, and its settings."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import Account
from accounts.serializers.account import AccountResource, SettingsResource
from accounts.services import account as services
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE
from config.api.operations import operation
from config.api.views import RetrieveViewSet


class _OwnViewSet(RetrieveViewSet[Actor, Account]):
    """The account of the acting user, which is not named in the path."""

    def get_queryset(self) -> QuerySet[Account]:
        return Account.objects.filter(pk=self.viewer.account_id)

    def own(self) -> Account:
        return Account.objects.get(pk=self.actor.account_id)

    def retrieve(self, request: Request, **path: Any) -> Response:
        return super().retrieve(request, id=self.actor.account_id)


class AccountViewSet(_OwnViewSet):
    """The customer."""

    serializer_class = AccountResource
    required_scopes = READ
    required_grant = ACCOUNT_READ

    @operation(WRITE, ACCOUNT_WRITE)
    def update(self, request: Request) -> Response:
        """Change the given fields of the customer's name and address.

        Fields that are omitted keep their values. Leaves the event `account_update`.
        """
        account, given = self.own(), self.body(partial=True)
        services.update(self.actor, account, given, given.problems)
        return Response(self.get_serializer(account).data)


class SettingsViewSet(_OwnViewSet):
    """Settings of the account."""

    serializer_class = SettingsResource
    required_scopes = READ
    required_grant = ACCOUNT_READ

    @operation(WRITE, ACCOUNT_WRITE)
    def update(self, request: Request) -> Response:
        """Change settings of the account. They apply to objects that are created later."""
        account = self.own()
        services.update_settings(self.actor, account, self.validated(partial=True))
        return Response(self.get_serializer(account).data)

    @action(detail=True, methods=["post"], url_path="managed-enable")
    @operation(WRITE, ACCOUNT_WRITE)
    def enable_managed(self, request: Request) -> Response:
        """Enable managed monitoring for the account.

        If it is on already, nothing happens. Leaves the event `managed_enabled`.
        """
        services.enable_managed(self.actor, self.own())
        return Response({})
