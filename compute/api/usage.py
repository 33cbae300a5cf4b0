"""Usage of the account, and its quotas: additions of this platform to the contract."""

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.quotas import resources_of
from compute.api.usage_span import MAX_MONTHS, span_of
from compute.serializers.usage import GROUPINGS, Quotas, Usage, quotas_of, report_of
from compute.services.usage import clock, reports
from config.api.access import ACCOUNT_READ
from config.api.openapi import ADDITIONS
from config.api.operations import operation
from config.api.pagination import EnvelopePagination
from config.api.views import GenericViewSet, expensive

READ = "account:read_only"
QUERY = [
    OpenApiParameter(
        "from",
        OpenApiTypes.STR,
        description=(
            "A date, or a time in UTC, such as `2026-11-01` or `2026-11-01T12:00:00`. By default, the first day of "
            "the present month."
        ),
    ),
    OpenApiParameter(
        "until",
        OpenApiTypes.STR,
        description=(
            "A later date or time: the end, which is not included. By default, the first day of the next month. "
            f"A report covers at most {MAX_MONTHS} calendar months."
        ),
    ),
    OpenApiParameter(
        "group_by",
        {
            "type": "string",
            "enum": list(reports.GROUPINGS),
            "default": reports.KIND,
            "description": GROUPINGS.table,
            "x-enum-descriptions": dict(GROUPINGS.values),
        },
        description=str(GROUPINGS),
    ),
    *(
        OpenApiParameter(each["name"], each["schema"], each["in"], description=each["description"])
        for each in EnvelopePagination().get_schema_operation_parameters(None)
    ),
]
"""The query parameters of a report."""


class _AccountViewSet(GenericViewSet[Actor, Account]):
    def get_queryset(self) -> QuerySet[Account]:
        return Account.objects.filter(pk=self.viewer.account_id)


class UsageViewSet(_AccountViewSet):
    """Usage of the account."""

    serializer_class = Usage

    @extend_schema(parameters=QUERY, tags=[ADDITIONS])
    @operation(READ, ACCOUNT_READ, refusals=(400,))
    @expensive
    def retrieve(self, request: Request) -> Response:
        """Get what the account used, and what it costs.

        Resources cost their price for each hour of their existence, but in a calendar month at most the monthly
        price. Amounts are in USD. Usage that goes on is counted until now. Whole months, and the present month so
        far, include the transfer beyond the account's pool.
        """
        page = self.page_asked_for()
        span = span_of(request.query_params, clock.now())
        found = reports.summary(
            self.actor.account_id, span.since, span.until, span.group_by, offset=page.offset, limit=page.size
        )
        report = report_of(span.since, span.until, span.group_by, found, page)
        return Response(self.get_serializer(report).data)


class QuotaViewSet(_AccountViewSet):
    """Quotas of the account."""

    serializer_class = Quotas

    @extend_schema(tags=[ADDITIONS])
    @operation(READ, ACCOUNT_READ)
    def retrieve(self, request: Request) -> Response:
        """List the quotas of the account.

        A quota limits how much of a resource the account uses at once. A request that would use more is answered
        400. To get more, open a support ticket.
        """
        return Response(self.get_serializer(quotas_of(resources_of(self.actor.account_id))).data)
