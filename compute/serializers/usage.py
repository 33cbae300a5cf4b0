"""Serializers of usage and quotas of an account."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from rest_framework.serializers import CharField, ChoiceField, DateTimeField, FloatField, IntegerField

from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import EXTRA_IPV4, Resources
from compute.models import UsageKind
from compute.services.usage import reports
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.pagination import Page
from config.api.serializers import Resource

GROUPINGS = Meanings(
    "The groups in `data`.",
    {
        "total": "None: only the total is wanted.",
        "kind": "One for each kind of resource.",
        "resource": "One for each resource, the most expensive first.",
    },
)
OF_ACCOUNT = (UsageKind.EXTRA_IPV4, reports.TRANSFER)
"""The kinds whose resource is the account."""
QUOTAS = {
    **{name: "computes" if name == "instances" else name for name in RESOURCE_QUOTAS},
    EXTRA_IPV4: EXTRA_IPV4,
}
"""The names of quotas that clients see, by the names of counters."""


def _id_of(kind: str, resource: int | None) -> int | None:
    return None if kind in OF_ACCOUNT else resource


def _or_null(text: str | None) -> str | None:
    return text or None


class UsageGroup(Resource):
    """The usage of one kind, or of one resource."""

    kind = ChoiceField(
        reports.KINDS,
        help_text=Meanings(
            "What was used.",
            {
                "compute": "A compute, from its creation to its deletion, running or not.",
                "compute_backups": "The backup service of a compute.",
                "volume": "A volume.",
                "backup": "A backup. It is free: only the backup service has a price.",
                "image": "An image of the account.",
                "extra_ipv4": "Public IPv4 addresses beyond one for each compute.",
                "ipv6_range": "An IPv6 range.",
                "nodebalancer": "A load balancer.",
                "transfer": "Transfer beyond the account's pool.",
            },
        ),
    )
    id = Computed(
        IntegerField(allow_null=True),
        _id_of,
        "kind",
        "resource",
        help_text=(
            "The id of the resource, which may be deleted. For an image: the number in its id. Null for extra IPv4 "
            "addresses, for transfer, and if the groups are kinds."
        ),
    )
    label = CharField(allow_null=True, help_text="The resource's label; null if the groups are kinds.")
    region = Computed(
        CharField(allow_null=True), _or_null, "region", help_text="The id of its region; null if it has none."
    )
    type = Computed(
        CharField(allow_null=True), _or_null, "type", help_text="The id of the instance type; null for other kinds."
    )
    hours = FloatField(help_text="Hours for which resources existed. For transfer: 0.")
    quantity_hours = FloatField(
        help_text=(
            "The quantity times the hours: GB-hours for volumes, backups and images, address-hours for extra IPv4 "
            "addresses. For transfer, the number of GB. For all other kinds, the hours."
        )
    )
    amount = FloatField(help_text="USD, with 4 decimals.")

    class Meta:
        read_only = True


class Usage(Resource):
    """The usage of the account between two times, and its cost."""

    from_ = DateTimeField(source="since", help_text="The beginning, in UTC.")
    until = DateTimeField(help_text="The end, in UTC. Usage after the present time is not known yet.")
    group_by = ChoiceField(reports.GROUPINGS, help_text=GROUPINGS)
    total = FloatField(help_text="USD: the sum of the amounts of all groups on all pages.")
    data = UsageGroup(many=True, help_text="The groups of this page.")
    page = IntegerField(help_text="The number of this page, from 1.")
    pages = IntegerField(help_text="How many pages there are, at least 1.")
    results = IntegerField(help_text="How many groups there are on all pages together.")

    class Meta:
        read_only = True


class QuotaResource(Resource):
    """A limit of what the account may use at once."""

    quota = ChoiceField(
        list(QUOTAS.values()),
        help_text=Meanings(
            "What is limited.",
            {
                "computes": "The number of computes.",
                "vcpus": "Virtual CPUs of all computes.",
                "memory": "Memory of all computes.",
                "gpus": "GPUs of all computes.",
                "disk": "Disk space of all computes, as their types have it.",
                "volumes": "The number of volumes.",
                "volume_storage": "The size of all volumes.",
                "backup_storage": "The size of all backups.",
                "image_storage": "The size of the account's images.",
                "total_ipv6_ranges": "The number of IPv6 ranges.",
                "total_nodebalancers": "The number of load balancers.",
                "extra_ipv4": "Public IPv4 addresses beyond one for each compute.",
            },
        ),
    )
    unit = ChoiceField(
        ["MB", "GB"],
        allow_null=True,
        help_text=Meanings(
            "The unit of `limit` and `used`.",
            {"MB": "1024² bytes.", "GB": "1024³ bytes.", "null": "None: a number of objects."},
        ),
    )
    limit = IntegerField(allow_null=True, help_text="How much the account may use; null is no limit.")
    used = IntegerField(help_text="How much the account uses now.")

    class Meta:
        read_only = True


class Quotas(Resource):
    """The limits of what the account may use at once."""

    quotas = QuotaResource(many=True, help_text="All quotas of resources.")

    class Meta:
        read_only = True


@dataclass(frozen=True, slots=True)
class Report:
    """An answer: the attributes are those of `Usage`."""

    since: datetime
    until: datetime
    group_by: str
    total: Decimal
    data: list[reports.Group]
    page: int
    pages: int
    results: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A quota, its limit and its use: the attributes are those of `QuotaResource`."""

    quota: str
    unit: str | None
    limit: int | None
    used: int


@dataclass(frozen=True, slots=True)
class QuotaList:
    quotas: list[Limit]


def report_of(since: datetime, until: datetime, group_by: str, found: reports.Summary, page: Page) -> Report:
    envelope = page.envelope(found.groups, found.count)
    return Report(since, until, group_by, found.total, **envelope)


def quotas_of(found: Resources) -> QuotaList:
    """Return all quotas, from an account's limits and use."""
    units = {name: each.unit or None for name, each in RESOURCE_QUOTAS.items()}
    return QuotaList(
        [Limit(shown, units.get(name), found.limits[name], found.used[name]) for name, shown in QUOTAS.items()]
    )
