"""Issues: the services that were down together, for how long, and the ticket of the incident."""

from typing import TYPE_CHECKING, TypedDict

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter
from accounts.models import Account
from config.admin.pages import Panel, ReadOnlyPage, Row
from config.admin.tasks import Task
from config.admin.value_formats import link, moment, span
from config.display.integers import is_id
from config.display.statuses import BAD, QUIET, pill, status_pill
from managed.admin.value_formats import TARGET, ticket_link
from managed.models import Issue, Service

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

_AMONG = Func(
    OuterRef("services"),
    F("pk"),
    template="(array_position(%(expressions)s) IS NOT NULL)",
    output_field=BooleanField(),
)
LABELS = ArraySubquery(Service.objects.filter(_AMONG, account=OuterRef("account")).order_by("pk").values("label"))
"""The labels of the issue's services that still exist. A subquery, so that a list needs one query."""


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "now"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("open", "Open"), ("closed", "Closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Issue]) -> QuerySet[Issue]:
        wanted = {"open": Q(closed=None), "closed": Q(closed__isnull=False)}
        return queryset.filter(wanted.get(self.value() or "", Q()))


class Labelled(TypedDict):
    labels: list[str]


@admin.register(Issue)
class IssuePage(ReadOnlyPage):
    """Issues, which checks and changes of services open and close. Open issues come first."""

    task = Task.MONITORING
    list_display = ("name", "state", "account", "services_list", "ticket_subject", "opened", "lasted")
    list_filter = (StateFilter, AccountFilter)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "=ticket_id")
    search_help_text = "Id of an issue or ticket, or how a company or account's email begins."
    ordering = (F("closed").desc(nulls_first=True), "-id")
    sortable_by = ()
    fields = (("state", "account"), ("opened", "closed_at"), "lasted", "ticket_subject")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Issue]:
        return super().get_queryset(request).select_related("account", "ticket").annotate(labels=LABELS)

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        return Q(account__in=Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term)))

    def panels(self, request: HttpRequest, obj: Issue) -> list[Panel]:
        return [services_panel(obj)]

    @admin.display(description="Issue")
    def name(self, issue: Issue) -> str:
        return str(issue)

    @admin.display(description="State")
    def state(self, issue: Issue) -> SafeString:
        return pill("closed", QUIET) if issue.closed else pill("open", BAD)

    @admin.display(description="Services")
    def services_list(self, issue: "WithAnnotations[Issue, Labelled]") -> str:
        labels = issue.labels
        gone = len(issue.services) - len(labels)
        return ", ".join([*labels, *([f"{gone} deleted since"] if gone else [])])

    @admin.display(description="Ticket")
    def ticket_subject(self, issue: Issue) -> SafeString:
        return ticket_link(issue.ticket)

    @admin.display(description="Opened")
    def opened(self, issue: Issue) -> SafeString:
        return moment(issue.created)

    @admin.display(description="Closed")
    def closed_at(self, issue: Issue) -> SafeString:
        return moment(issue.closed)

    @admin.display(description="How long")
    def lasted(self, issue: Issue) -> str:
        return f"{span((issue.closed or now()) - issue.created)}{'' if issue.closed else ' so far'}"


def services_panel(issue: Issue) -> Panel:
    """Return the panel with the services that were part of the issue, and whether each is up now."""
    found = {service.pk: service for service in Service.objects.filter(pk__in=issue.services)}
    rows = [_row(issue, key, found.get(key)) for key in issue.services]
    return Panel("Services that failed", ("Service", "Now", "Address", "Error"), rows)


def _row(issue: Issue, key: int, service: Service | None) -> Row:
    if service is None:
        return Row((f"service {key}, deleted since", "", "", ""))
    target, failing = format_html(TARGET, service.address), service.issue_id == issue.pk
    return Row((link(service), status_pill(service.status), target, service.error), "bad" if failing else "")
