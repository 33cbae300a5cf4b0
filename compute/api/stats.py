"""Statistics and network transfer of an instance, and the account's transfer."""

from datetime import date

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.models import Account
from compute.models import Instance
from compute.serializers.stats import AccountTransfer, ComputeStats, InstanceTransfer, MonthlyTransfer, shown
from compute.services.stats import stats, transfer
from config.api.access import ACCOUNT_READ, READ_ONLY
from config.api.operations import operation
from config.api.paths import FIRST_YEAR, LAST_YEAR
from config.api.views import GenericViewSet, expensive
from config.errors import Problems

READ = "computes:read_only"


def named(year: int, number: int) -> date:
    """Return the month that a path names. Raises `Invalid` naming ``year`` and ``month``."""
    problems = Problems()
    if not FIRST_YEAR <= year <= LAST_YEAR:
        problems.add("year", f"year must be {FIRST_YEAR}-{LAST_YEAR}")
    if not 1 <= number <= 12:
        problems.add("month", "month must be 1-12")
    problems.raise_any()
    return date(year, number, 1)


class _InstanceViewSet(GenericViewSet[Actor, Instance]):
    queryset = Instance.objects.select_related("type")


class StatsViewSet(_InstanceViewSet):
    """Charts of a compute's usage."""

    serializer_class = ComputeStats
    cache_control = "private, max-age=180"

    @operation(READ, READ_ONLY, throttle_scope="stats", refusals=(400,))
    def retrieve(self, request: Request, id: int) -> Response:
        """Get the last 24 hours, in averages of five minutes.

        If there are no samples yet, the answer is 400.
        """
        return Response(stats.of_last_day(self.get_object(), now()))

    @action(detail=True, methods=["get"], url_path="<int:year>/<int:month>")
    @operation(READ, READ_ONLY, response=ComputeStats, throttle_scope="stats", refusals=(400,), noun="month")
    def month(self, request: Request, id: int, year: int, month: int) -> Response:
        """Get the statistics of a month, one value for each hour.

        If the hourly values have expired, there is one value for each day. If the month has no samples, the answer
        is 400.
        """
        instance = self.get_object()
        return Response(stats.of_month(instance, named(year, month)))


class TransferViewSet(_InstanceViewSet):
    """Network transfer of a compute. Sent bytes count, received bytes are free."""

    serializer_class = InstanceTransfer

    @operation(READ, READ_ONLY)
    def retrieve(self, request: Request, id: int) -> Response:
        """Get the transfer that the compute has used this month.

        Counted from the first of the month, in UTC.
        """
        return Response(shown(transfer.of_instance(self.get_object(), now())))

    @action(detail=True, methods=["get"], url_path="<int:year>/<int:month>")
    @operation(READ, READ_ONLY, response=MonthlyTransfer, refusals=(400,), noun="month")
    def month(self, request: Request, id: int, year: int, month: int) -> Response:
        """Get the bytes that a compute received and sent in a month.

        Counted from the first of the month to its end, in UTC.
        """
        instance = self.get_object()
        received, sent = transfer.in_month(instance, named(year, month))
        return Response({"bytes_in": received, "bytes_out": sent, "bytes_total": received + sent})


class AccountTransferViewSet(GenericViewSet[Actor, Account]):
    """Network transfer of the account, which all its computes share."""

    serializer_class = AccountTransfer

    def get_queryset(self) -> QuerySet[Account]:
        return Account.objects.filter(pk=self.viewer.account_id)

    @operation("account:read_only", ACCOUNT_READ)
    @expensive
    def retrieve(self, request: Request) -> Response:
        """Get the transfer that the account has used this month.

        `used` is the transfer that all computes have sent since the first of the month, in UTC. `quota` is the
        transfer that their types allow together.
        """
        account = Account.objects.get(pk=self.actor.account_id)
        return Response(shown(transfer.of_account(account, now())))
