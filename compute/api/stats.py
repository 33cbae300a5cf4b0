"""What an instance did, and how much of its transfer it has used; and the account's transfer."""

from datetime import date
from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.serializers import CharField, FloatField, IntegerField, ListField

from accounts.actors import Actor
from accounts.models import Account
from compute.models import Instance
from compute.services.common.months import FIRST_YEAR, LAST_YEAR
from compute.services.stats import stats, transfer
from config.api.access import ACCOUNT_READ, READ_ONLY
from config.api.fields import Absent
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Problems

READ = "computes:read_only"


def points() -> ListField:
    """A chart: times in milliseconds since 1970, each with its value."""
    return ListField(child=ListField(child=FloatField()))


class Network(Resource):
    """Bits a second."""

    in_ = points()
    out = points()
    private_in = points()
    private_out = points()


class DiskStats(Resource):
    """Blocks a second."""

    io = points()
    swap = points()


class ComputeStatsData(Resource):
    cpu = points()
    io = DiskStats()
    netv4 = Network()
    netv6 = Network()


class ComputeStats(Resource):
    """The contract's schema has the charts beside the title; what the published service answers has them in `data`,
    where clients look for them."""

    title = CharField()
    data = ComputeStatsData()
    cpu = Absent(points())
    io = Absent(DiskStats())
    netv4 = Absent(Network())
    netv6 = Absent(Network())

    class Meta:
        read_only = True


class InstanceTransfer(Resource):
    used = IntegerField(help_text="Bytes that were sent this month.")
    quota = IntegerField(help_text="GB that the compute adds to the account's pool this month.")
    billable = IntegerField(help_text="GB beyond that.")

    class Meta:
        read_only = True


class MonthlyTransfer(Resource):
    bytes_in = IntegerField()
    bytes_out = IntegerField()
    bytes_total = IntegerField()

    class Meta:
        read_only = True


class AccountTransfer(Resource):
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


class _InstanceViewSet(ResourceViewSet[Actor, Instance]):
    related = ("type",)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return Instance.objects.visible_to(actor)


class StatsViewSet(_InstanceViewSet):
    """Charts of what a compute did."""

    resource = ComputeStats
    responses = {"day": ComputeStats, "month": ComputeStats}
    scopes = {"day": READ, "month": READ}
    grants = dict.fromkeys(scopes, READ_ONLY)
    throttle = dict.fromkeys(scopes, "stats")
    cache_control = "private, max-age=180"

    def day(self, request: Request, id: int) -> JSONResponse:
        """The last 24 hours, in averages of five minutes."""
        return JSONResponse(stats.of_last_day(self.get_entity(), now()))

    def month(self, request: Request, id: int, year: int, month: int) -> JSONResponse:
        """A month, in averages of an hour, or of a day where it is long ago."""
        instance = self.get_entity()
        return JSONResponse(stats.of_month(instance, named(year, month)))


class TransferViewSet(_InstanceViewSet):
    """Network transfer of a compute. What is sent counts, what is received is free."""

    resource = InstanceTransfer
    responses = {"current": InstanceTransfer, "month": MonthlyTransfer}
    scopes = {"current": READ, "month": READ}
    grants = dict.fromkeys(scopes, READ_ONLY)

    def current(self, request: Request, id: int) -> JSONResponse:
        """What the compute has used of its transfer this month."""
        return JSONResponse(shown(transfer.of_instance(self.get_entity(), now())))

    def month(self, request: Request, id: int, year: int, month: int) -> JSONResponse:
        """What a compute has received and sent in a month."""
        instance = self.get_entity()
        received, sent = transfer.in_month(instance, named(year, month))
        return JSONResponse({"bytes_in": received, "bytes_out": sent, "bytes_total": received + sent})


class AccountTransferViewSet(ResourceViewSet[Actor, Account]):
    """Network transfer of the account, which all its computes share."""

    resource = AccountTransfer
    responses = {"current": AccountTransfer}
    scopes = {"current": "account:read_only"}
    grants = {"current": ACCOUNT_READ}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Account]:
        return Account.objects.filter(pk=actor.account_id)

    def current(self, request: Request) -> JSONResponse:
        """What the account has used of its transfer this month."""
        account = Account.objects.get(pk=self.actor.account_id)
        return JSONResponse(shown(transfer.of_account(account, now())))


def shown(allotment: transfer.Allotment) -> dict[str, Any]:
    return {"used": allotment.used, "quota": allotment.quota, "billable": allotment.billable}
