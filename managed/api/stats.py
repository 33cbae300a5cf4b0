"""What all computes of the account did together."""

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField

from accounts.actors import Actor
from accounts.models import Account
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import GenericViewSet
from managed.api.base import MANAGED, READ
from managed.services import stats


class Point(Resource):
    """One value of a chart."""

    x = IntegerField(help_text="Milliseconds since 1970.")
    y = IntegerField(help_text="What was measured.")


class StatsData(Resource):
    """Charts of all instances of the account together."""

    cpu = Point(many=True, help_text="Percent, 100 for each core.")
    disk = Point(many=True, help_text="Blocks a second on disks.")
    swap = Point(many=True, help_text="Blocks a second on swap disks.")
    net_in = Point(many=True, help_text="Bits a second to the computes.")
    net_out = Point(many=True, help_text="Bits a second from the computes.")


class StatsResource(Resource):
    """Five-minute sums of the last 24 hours; empty lists where there are no samples yet."""

    data = StatsData(help_text="The charts.")

    class Meta:
        read_only = True


class StatsViewSet(GenericViewSet[Actor, Account]):
    """Statistics of managed."""

    serializer_class = StatsResource
    permission_classes = MANAGED

    def get_queryset(self) -> QuerySet[Account]:
        return Account.objects.filter(pk=self.viewer.account_id)

    @operation(READ, UNRESTRICTED, throttle_scope="stats")
    def retrieve(self, request: Request) -> Response:
        """The last 24 hours of all computes of the account together.

        Sums of five minutes each; empty lists where nothing was measured.
        """
        return Response({"data": stats.of_last_day(self.actor, now())})
