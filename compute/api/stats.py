"""What an instance did, and how much of its transfer it has used; and the account's transfer."""

from datetime import date
from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, FloatField, IntegerField, ListField

from accounts.actors import Actor
from accounts.models import Account
from compute.models import Instance
from compute.services.stats import stats, transfer
from config.api.access import ACCOUNT_READ, READ_ONLY
from config.api.fields import Absent
from config.api.operations import operation
from config.api.paths import FIRST_YEAR, LAST_YEAR
from config.api.serializers import Resource
from config.api.views import GenericViewSet, expensive
from config.errors import Problems

READ = "computes:read_only"


def points(help_text: str) -> ListField:
    """A chart: times in milliseconds since 1970, each with its value."""
    pair = ListField(child=FloatField(), help_text="Milliseconds since 1970, and what was measured.")
    return ListField(child=pair, help_text=help_text)


class Network(Resource):
    """Bits a second."""

    in_ = points("Public traffic to the instance.")
    out = points("Public traffic from the instance.")
    private_in = points("Private traffic to the instance.")
    private_out = points("Private traffic from the instance.")


class DiskStats(Resource):
    """Blocks a second."""

    io = points("Blocks read and written.")
    swap = points("Blocks swapped in and out.")


class ComputeStatsData(Resource):
    """Charts of an instance."""

    cpu = points("Percent, 100 for each core.")
    io = DiskStats(help_text="What disks did, in blocks a second.")
    netv4 = Network(help_text="IPv4 traffic, in bits a second.")
    netv6 = Network(help_text="IPv6 traffic, in bits a second.")


class ComputeStats(Resource):
    """The contract's schema has the charts beside the title; what the published service answers has them in `data`,
    where clients look for them."""

    title = CharField()
    data = ComputeStatsData(help_text="The charts.")
    cpu = Absent(points(""), help_text="See `data`.")
    io = Absent(DiskStats(), help_text="See `data`.")
    netv4 = Absent(Network(), help_text="See `data`.")
    netv6 = Absent(Network(), help_text="See `data`.")

    class Meta:
        read_only = True


class InstanceTransfer(Resource):
    """What an instance has used of its transfer this month."""

    used = IntegerField(help_text="Bytes that were sent this month.")
    quota = IntegerField(help_text="GB that the compute adds to the account's pool this month.")
    billable = IntegerField(help_text="GB beyond that.")

    class Meta:
        read_only = True


class MonthlyTransfer(Resource):
    """What an instance has received and sent in a month."""

    bytes_in = IntegerField(help_text="Bytes that were received.")
    bytes_out = IntegerField(help_text="Bytes that were sent.")
    bytes_total = IntegerField(help_text="Both together.")

    class Meta:
        read_only = True


class AccountTransfer(Resource):
    """What the account has used of its transfer this month."""

    used = IntegerField(help_text="GB that all computes together have sent this month.")
    quota = IntegerField(help_text="GB that they may send together.")
    billable = IntegerField(help_text="GB beyond that.")

    class Meta:
        read_only = True


def named(year: int, number: int) -> date:
    """The month that a path names. Raises `Invalid` naming ``year`` and ``month``."""
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
    """Charts of what a compute did."""

    serializer_class = ComputeStats
    cache_control = "private, max-age=180"

    @operation(READ, READ_ONLY, throttle_scope="stats", refusals=(400,))
    def retrieve(self, request: Request, id: int) -> Response:
        """The last 24 hours, in averages of five minutes.

        Before there are samples the answer is a 400.
        """
        return Response(stats.of_last_day(self.get_object(), now()))

    @action(detail=True, methods=["get"], url_path="<int:year>/<int:month>")
    @operation(READ, READ_ONLY, response=ComputeStats, throttle_scope="stats", refusals=(400,), noun="month")
    def month(self, request: Request, id: int, year: int, month: int) -> Response:
        """A month, in averages of an hour, or of a day where it is long ago.

        Of a month without samples the answer is a 400.
        """
        instance = self.get_object()
        return Response(stats.of_month(instance, named(year, month)))


class TransferViewSet(_InstanceViewSet):
    """Network transfer of a compute. What is sent counts, what is received is free."""

    serializer_class = InstanceTransfer

    @operation(READ, READ_ONLY)
    def retrieve(self, request: Request, id: int) -> Response:
        """What the compute has used of its transfer this month.

        Counted from the first of the month, in UTC.
        """
        return Response(shown(transfer.of_instance(self.get_object(), now())))

    @action(detail=True, methods=["get"], url_path="<int:year>/<int:month>")
    @operation(READ, READ_ONLY, response=MonthlyTransfer, refusals=(400,), noun="month")
    def month(self, request: Request, id: int, year: int, month: int) -> Response:
        """What a compute has received and sent in a month.

        Counted in bytes, from the first of the month to its end, in UTC.
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
        """What the account has used of its transfer this month.

        What all computes have sent since the first of the month, in UTC, of what their types allow together.
        """
        account = Account.objects.get(pk=self.actor.account_id)
        return Response(shown(transfer.of_account(account, now())))


def shown(allotment: transfer.Allotment) -> dict[str, Any]:
    return {"used": allotment.used, "quota": allotment.quota, "billable": allotment.billable}
