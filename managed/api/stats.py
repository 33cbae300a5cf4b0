"""What all computes of the account did together."""

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.serializers import IntegerField

from accounts.actors import Actor
from accounts.models import Account
from config.api.access import UNRESTRICTED
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, ManagedViewSet
from managed.services import stats


class Point(Resource):
    x = IntegerField(help_text="Milliseconds since 1970.")
    y = IntegerField()


class StatsData(Resource):
    cpu = Point(many=True)
    disk = Point(many=True)
    swap = Point(many=True)
    net_in = Point(many=True)
    net_out = Point(many=True)


class StatsResource(Resource):
    """Five-minute sums of the last 24 hours; empty lists where there are no samples yet."""

    data = StatsData()

    class Meta:
        read_only = True


class StatsViewSet(ManagedViewSet[Account]):
    """Statistics of managed."""

    resource = StatsResource
    responses = {"day": StatsResource}
    scopes = {"day": READ}
    grants = dict.fromkeys(scopes, UNRESTRICTED)
    throttle = {"day": "stats"}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Account]:
        return Account.objects.filter(pk=actor.account_id)

    def day(self, request: Request) -> JSONResponse:
        """The last 24 hours of all computes of the account together."""
        return JSONResponse({"data": stats.of_last_day(self.actor, now())})
