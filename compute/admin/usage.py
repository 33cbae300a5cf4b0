"""Usage: the intervals of metered resources, and the statements of months. Nobody changes them here."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote
from django.db.models import Count, F, Q, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import account_panel, account_verb
from accounts.admin.quotas import differs
from accounts.display.quotas import QUOTA_LABELS, amount_of
from accounts.models import Account
from compute.models import (
    Backup,
    Image,
    Instance,
    IPv6Range,
    NodeBalancer,
    ResourcePrice,
    UsageInterval,
    UsageKind,
    UsageStatement,
    Volume,
)
from compute.services.usage.comparison import compare, repair
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, lines, link, list_of, moment, span
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.statuses import GOOD, pill
from regions.models import Region

MODELS: dict[str, Any] = {
    UsageKind.COMPUTE: Instance,
    UsageKind.COMPUTE_BACKUPS: Instance,
    UsageKind.VOLUME: Volume,
    UsageKind.BACKUP: Backup,
    UsageKind.IMAGE: Image,
    UsageKind.EXTRA_IPV4: Account,
    UsageKind.IPV6_RANGE: IPv6Range,
    UsageKind.NODEBALANCER: NodeBalancer,
}
"""The models of metered resources, by kind."""
KINDS = {**dict(UsageKind.choices), ResourcePrice.Kind.TRANSFER.value: "transfer beyond the pool"}
GB_KINDS = {UsageKind.VOLUME, UsageKind.BACKUP, UsageKind.IMAGE}
MONTHS_OFFERED = 24
STATEMENTS_SHOWN = 12
LINES_SHOWN = 500


def number(value: Any, digits: int = 6) -> str:
    """Format a decimal without zeros at its end: ``0.00015``, ``1,250``."""
    text = f"{Decimal(str(value)):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def price(hourly: Any, monthly: Any) -> SafeString | str:
    """Format the price of one unit: ``0.015 an hour, 10 a month at most``."""
    if not Decimal(str(hourly)):
        return NOTHING
    most = "" if monthly is None else f", at most {number(monthly)} a month"
    return f"{number(hourly)} an hour{most}"


def quantity(kind: str, value: Any) -> str:
    return f"{number(value, 4)} GB" if kind in GB_KINDS else number(value, 4)


def resource_link(kind: str, resource: int, label: str) -> SafeString:
    """Return the link to a resource that exists."""
    model = MODELS[kind]
    key = f"private/{resource}" if model is Image else str(resource)
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[quote(key)])
    return format_html('<a href="{}">{}</a>', address, label or resource)


class TimeFilter(admin.SimpleListFilter):
    title = "time"
    parameter_name = "time"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("now", "Metered now"), ("ended", "Ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[UsageInterval]) -> QuerySet[UsageInterval]:
        return queryset.filter(ended__isnull=self.value() == "now") if self.value() else queryset


class RegionFilter(admin.SimpleListFilter):
    """A filter by the regions that exist. Intervals name regions by value."""

    title = "region"
    parameter_name = "region"
    template = "admin/closed_filter.html"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(pk, pk) for pk in Region.objects.values_list("pk", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[UsageInterval]) -> QuerySet[UsageInterval]:
        return queryset.filter(region=self.value()) if self.value() else queryset


@admin.register(UsageInterval)
class UsageIntervalPage(ReadOnlyPage):
    """The times during which a resource was metered without a change."""

    task = Task.RECORDS
    list_display = ("name", "kind_and_type", "account", "region", "amount", "hourly", "began", "end")
    list_select_related = ("account",)
    list_filter = (TimeFilter, "kind", AccountFilter, RegionFilter)
    link_filters = ("account__id__exact", "kind__exact", "resource__exact")
    search_fields = ("=account_id", "=resource")
    search_help_text = "An account's id, or the id of a resource that is metered now. Of an image: its number."
    ordering = ("-id",)
    sortable_by = ()
    fields = (
        "page", "kind", "account", ("region", "type"), "amount", "unit_price", ("began", "end"), "length",
        "part",
    )  # fmt: skip
    help_texts: ClassVar[Mapping[str, str]] = {
        "page": "The label at the beginning of the interval.",
        "amount": "The quantity that is metered: GB for storage, otherwise pieces.",
        "unit_price": "At the beginning of the interval. A new price begins a new interval.",
        "part": "The resource adds this to the account's counters while the interval is open.",
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[UsageInterval]:
        return super().get_queryset(request).select_related("account")

    def matches(self, term: str) -> Q:
        """Find resources by the small index of open intervals. No index has the resources of ended intervals."""
        if not is_id(term):
            return Q(pk__in=[])
        return Q(account=int(term)) | Q(ended=None, kind__in=UsageKind.values, resource=int(term))

    @admin.display(description="Resource")
    def name(self, row: UsageInterval) -> str:
        return row.label or str(row.resource)

    @admin.display(description="Kind")
    def kind_and_type(self, row: UsageInterval) -> str:
        return f"{row.get_kind_display()}, {row.type}" if row.type else row.get_kind_display()

    @admin.display(description="Resource")
    def page(self, row: UsageInterval) -> SafeString | str:
        """The link to the resource while it is metered, else its label: the resource may be gone."""
        return resource_link(row.kind, row.resource, row.label) if row.ended is None else self.name(row)

    @admin.display(description="Quantity")
    def amount(self, row: UsageInterval) -> str:
        return quantity(row.kind, row.quantity)

    @admin.display(description="Price of one unit (USD)")
    def unit_price(self, row: UsageInterval) -> SafeString | str:
        return price(row.price_hourly, row.price_monthly)

    @admin.display(description="USD an hour")
    def hourly(self, row: UsageInterval) -> str:
        return number(row.price_hourly * row.quantity)

    @admin.display(description="From (UTC)")
    def began(self, row: UsageInterval) -> SafeString:
        return moment(row.started)

    @admin.display(description="Until (UTC)")
    def end(self, row: UsageInterval) -> SafeString:
        return pill("now", GOOD) if row.ended is None else moment(row.ended)

    @admin.display(description="Duration")
    def length(self, row: UsageInterval) -> str:
        return span((row.ended or now()) - row.started)

    @admin.display(description="Part of the counters")
    def part(self, row: UsageInterval) -> SafeString | str:
        parts = (
            f"{QUOTA_LABELS.get(name, name)}: {amount_of(name, count)}"
            for name, count in row.counts.items()
            if count
        )
        return lines(parts) or NOTHING


class MonthFilter(admin.SimpleListFilter):
    title = "month"
    parameter_name = "month"
    template = "admin/closed_filter.html"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        this = now().year * 12 + now().month - 1
        months = [divmod(this - ago, 12) for ago in range(1, MONTHS_OFFERED + 1)]
        return [(f"{year}-{month + 1:02}-01", f"{year}-{month + 1:02}") for year, month in months]

    def queryset(self, request: HttpRequest, queryset: QuerySet[UsageStatement]) -> QuerySet[UsageStatement]:
        return queryset.filter(month=date.fromisoformat(self.value() or "")) if self.value() else queryset


class MailedFilter(admin.SimpleListFilter):
    title = "mail"
    parameter_name = "mailed"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("yes", "Mailed"), ("no", "Not mailed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[UsageStatement]) -> QuerySet[UsageStatement]:
        return queryset.filter(mailed__isnull=self.value() == "no") if self.value() else queryset


@admin.register(UsageStatement)
class UsageStatementPage(ReadOnlyPage):
    """The usage of accounts in months that are over."""

    task = Task.RECORDS
    list_display = ("account", "of_month", "amount", "written", "sent")
    list_filter = (MonthFilter, AccountFilter, MailedFilter)
    link_filters = ("account__id__exact",)
    search_fields = ("=account_id",)
    search_help_text = "An account's id."
    ordering = ("-month", "account")
    sortable_by = ()
    fields = ("account", "of_month", "amount", ("written", "sent"))
    help_texts: ClassVar[Mapping[str, str]] = {
        "amount": "The sum of all lines. No payment is made here.",
        "sent": "Empty if the account does not get statements by mail.",
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[UsageStatement]:
        return super().get_queryset(request).select_related("account").defer("lines")

    def panels(self, request: HttpRequest, obj: UsageStatement) -> list[Panel]:
        found = sorted(obj.lines, key=lambda line: -Decimal(line["amount"]))
        shown = min(len(found), LINES_SHOWN)
        panel = Panel.of(
            "Lines" if shown == len(found) else f"The {shown} largest of {len(found)} lines",
            (
                "Kind",
                "Resource",
                "Id",
                "Region",
                "Type",
                "Hours",
                "Quantity × hours",
                "Price (USD)",
                "Amount (USD)",
            ),
            map(_cells, found[:shown]),
            empty="Nothing was metered.",
        )
        return [panel]

    @admin.display(description="Month")
    def of_month(self, row: UsageStatement) -> str:
        return f"{row.month:%Y-%m}"

    @admin.display(description="Total (USD)")
    def amount(self, row: UsageStatement) -> str:
        return f"{row.total:,.2f}"

    @admin.display(description="Written (UTC)")
    def written(self, row: UsageStatement) -> SafeString:
        return moment(row.created)

    @admin.display(description="Mailed (UTC)")
    def sent(self, row: UsageStatement) -> SafeString:
        return moment(row.mailed)


def _cells(line: Mapping[str, Any]) -> tuple[Any, ...]:
    unit_price = (
        f"{number(line['price_hourly'])} a GB"
        if line["kind"] == ResourcePrice.Kind.TRANSFER
        else price(line["price_hourly"], line["price_monthly"])
    )
    return (
        KINDS.get(line["kind"], line["kind"]), line["label"], line["resource"], line["region"], line["type"],
        number(line["hours"], 2), number(line["quantity_hours"], 2), unit_price, f"{Decimal(line['amount']):,.4f}",
    )  # fmt: skip


@account_panel
def metered_panel(account: Account) -> Panel:
    """The quantities and costs that the account is metered for now, by kind. One query."""
    rows = UsageInterval.objects.filter(account=account, ended=None).order_by().values("kind")
    sums = rows.annotate(
        resources=Count("pk"), sum=Sum("quantity"), hourly=Sum(F("quantity") * F("price_hourly"))
    ).order_by("kind")
    return Panel.of(
        "Metered now",
        ("Kind", "Resources", "Quantity", "USD an hour"),
        (
            (KINDS[row["kind"]], row["resources"], quantity(row["kind"], row["sum"]), number(row["hourly"]))
            for row in sums
        ),
        more=list_of(UsageInterval, account__id__exact=account.pk, time="now"),
        empty="Nothing.",
    )


@account_panel
def statements_panel(account: Account) -> Panel:
    """The account's newest statements."""
    rows = UsageStatement.objects.filter(account=account).defer("lines").order_by("-month")[:STATEMENTS_SHOWN]
    return Panel.of(
        "Usage statements",
        ("Month", "Total (USD)", "Mailed (UTC)"),
        ((link(row, f"{row.month:%Y-%m}"), f"{row.total:,.2f}", moment(row.mailed)) for row in rows),
        more=list_of(UsageStatement, account__id__exact=account.pk),
    )


def repair_usage(request: HttpRequest, account: Account) -> str:
    """Correct the counters and intervals of an account. Limits stay, and no resource changes."""
    found = compare(account.pk)
    if not found:
        return "Counters and intervals equal the resources already."
    repair(account.pk)
    return f"Counters and intervals were corrected: {', '.join(sorted(found))}."


account_verb(
    Verb(
        "repair_usage",
        "Repair usage",
        repair_usage,
        confirm=(
            "Counters are set to the sum of the account's resources. Intervals that are missing begin now. "
            "Intervals without a resource end now."
        ),
        offered=differs,
    )
)
