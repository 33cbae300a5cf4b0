"""Statistics of all computes of the account together."""

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.models import Account
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import GenericViewSet
from managed.api.base import MANAGED, READ
from managed.serializers.stats import StatsResource
from managed.services import stats


class StatsViewSet(GenericViewSet[Actor, Account]):
    """Statistics of managed."""

    serializer_class = StatsResource
    permission_classes = MANAGED

    def get_queryset(self) -> QuerySet[Account]:
        return Account.objects.filter(pk=self.viewer.account_id)

    @operation(READ, UNRESTRICTED, throttle_scope="stats")
    def retrieve(self, request: Request) -> Response:
        """The last 24 hours of all computes of the account together.

        Each value is the sum of five minutes. The lists are empty if there are no samples.
        """
        return Response({"data": stats.of_last_day(self.actor, now())})
