"""Monitored services: which ones are down and why, their response times, and information for repairs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import newest_events, staff
from accounts.models import Account
from compute.models import Instance
from config.admin.board.bars import BarTable
from config.admin.board.registry import Figure
from config.admin.pages import ClosedFilter, Panel, ReadOnlyPage, Row
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, ago, lines, link, list_of, moment, moment_ago, page_of, words
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.plurals import counted
from config.display.statuses import BAD, pill
from config.errors import Invalid
from managed.admin import service_status
from managed.admin.credentials import credential_rows, reveal_link
from managed.admin.keys import address, ssh
from managed.admin.service_status import Status, StatusDisplay
from managed.admin.value_formats import TARGET, ticket_link
from managed.display import charts_of
from managed.models import Issue, KeyPair, Measurement, Service
from managed.services import history, services, targets
from managed.services.history import History
from managed.services.incidents import contacts_of

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    from managed.admin.service_status import Clocked

ROWS_SHOWN = 15


def check_now(request: HttpRequest, service: Service) -> str:
    services.check_now(staff(request, service.account_id), service)
    return "the check is due now. Load the page again in a few seconds."


def can_be_checked(service: "WithAnnotations[Service, Clocked]") -> bool:
    """Tell whether the service is watched, and no check of it is in progress."""
    status = StatusDisplay(service)
    return status.watched and not status.is_being_checked


def disable(request: HttpRequest, service: Service) -> str:
    services.disable(staff(request, service.account_id), service)
    return "the service is not watched any more."


def enable(request: HttpRequest, service: Service) -> str:
    services.enable(staff(request, service.account_id), service)
    return "the first check is due now."


class CheckFilter(admin.SimpleListFilter):
    """Services by their status and by the progress of their next check."""

    title = "right now"
    parameter_name = "now"
    CHOICES = {
        "problem": ("Down", lambda: Q(status=Status.PROBLEM)),
        "shaky": ("The last check failed", service_status.shaky),
        "late": ("Late: waits for a check", service_status.late),
        "checking": ("Being checked", service_status.being_checked),
        "watched": ("All watched services", service_status.watched),
    }

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in self.CHOICES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Service]) -> QuerySet[Service]:
        chosen = self.CHOICES.get(self.value() or "")
        return queryset.filter(chosen[1]()) if chosen else queryset


@admin.register(Service)
class ServicePage(ReadOnlyPage):
    """The page of a service. Its account changes the service. Staff check, disable, enable and repair it."""

    task = Task.MONITORING
    list_display = ("label", "state", "account", "kind", "found", "last_check", "age")
    list_select_related = ("account",)
    list_filter = (CheckFilter, AccountFilter, "status", "service_type", ("region", ClosedFilter))
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "^label")
    search_help_text = "Id, part of an address, or how a label, company or account's email begins."
    ordering = ("-status", "-id")  # problem, pending, ok, disabled
    sortable_by = ()
    fieldsets = (
        (None, {"fields": (
            ("state", "id"), ("account", "label"), ("target", "runs_on"), ("timing", "has_to_contain"),
        )}),
        ("State", {"fields": (
            "needs", ("checked", "next_check"), ("last_good", "failures_in_a_row"), ("part_of", "ticket"),
            "checked_from",
        )}),
        ("More", {"classes": ("collapse",), "fields": (
            ("kind", "region"), ("consultation_group", "updated_at"), "created_at",
        )}),
    )  # fmt: skip
    verbs = (
        Verb("check-now", "Check now", check_now, offered=can_be_checked),
        Verb(
            "disable", "Disable", disable, danger=True, offered=lambda service: service.status != Status.DISABLED,
            confirm="The service is not checked any more, and nobody is notified about it. Its issue is closed,"
            " unless other"
            " services are part of it.",
        ),
        Verb("enable", "Enable", enable, offered=lambda service: service.status == Status.DISABLED),
    )  # fmt: skip

    @admin.display(description="Checked from")
    def checked_from(self, service: Service) -> str:
        if service.region is None:
            return "the hosts of workers"
        return (
            f"the hosts of workers, and not from inside {service.region}. The service can be up only if its private"
            " address is routed to all workers."
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Service]:
        rows = super().get_queryset(request).select_related("account", "region", "issue__ticket")
        return rows.annotate(clock=Now())

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        return super().matches(term) | Q(address__icontains=term) | Q(account__in=owner)

    def figures(self, request: HttpRequest, obj: "WithAnnotations[Service, Clocked]") -> list[Figure]:
        found = history.history(obj, obj.clock)
        return [uptimes(found), *charts_of(found, "UTC")]

    def panels(self, request: HttpRequest, obj: Service) -> list[Panel]:
        return [
            notes_panel(obj), secrets_panel(request, obj), contacts_panel(obj), issues_panel(obj),
            newest_events("Events", obj.account_id, entity_type="managed_service", entity_id=obj.pk),
        ]  # fmt: skip

    @admin.display(description="Status")
    def state(self, service: "WithAnnotations[Service, Clocked]") -> SafeString:
        return StatusDisplay(service).state()

    @admin.display(description="Address")
    def target(self, service: Service) -> SafeString:
        return format_html(TARGET, service.address)

    @admin.display(description="Type")
    def kind(self, service: Service) -> str:
        return service.service_type

    @admin.display(description="Address, error")
    def found(self, service: Service) -> SafeString:
        wrong = format_html('<span class="problem">{}</span>', service.error) if service.error else ""
        return lines([self.target(service), wrong])

    @admin.display(description="Checked")
    def last_check(self, service: Service) -> SafeString:
        return ago(service.checked_at)

    @admin.display(description="Checked")
    def checked(self, service: Service) -> SafeString:
        return moment_ago(service.checked_at)

    @admin.display(description="To do")
    def needs(self, service: "WithAnnotations[Service, Clocked]") -> SafeString:
        return StatusDisplay(service).needs()

    @admin.display(description="Next check")
    def next_check(self, service: "WithAnnotations[Service, Clocked]") -> str:
        return StatusDisplay(service).next_check()

    @admin.display(description="Last good check")
    def last_good(self, service: Service) -> str:
        good = Measurement.objects.filter(service=service, span=Measurement.Span.CHECK, failed=0)
        at = good.order_by("-at").values_list("at", flat=True).first()
        return f"none in {counted(settings.MEASUREMENTS_KEPT.days, 'day')}" if at is None else moment_ago(at)

    @admin.display(description="Failures in a row")
    def failures_in_a_row(self, service: Service) -> int:
        return service.failures

    @admin.display(description="Issue")
    def part_of(self, service: Service) -> SafeString:
        """Return the service's issue, which other services may have left.

        A failing service stays part of a closed issue.
        """
        issue = service.issue
        if issue is None:
            return NOTHING
        return format_html("{}, opened {}{}", link(issue), ago(issue.created), ", closed" if issue.closed else "")

    @admin.display(description="Ticket")
    def ticket(self, service: Service) -> SafeString:
        return ticket_link(service.issue.ticket) if service.issue else NOTHING

    @admin.display(description="Checks")
    def timing(self, service: Service) -> str:
        return f"every {settings.PROBE_EVERY} s, with a timeout of {service.timeout} s"

    @admin.display(description="Expected text")
    def has_to_contain(self, service: Service) -> str:
        return service.body or NOTHING

    @admin.display(description="Runs on")
    def runs_on(self, service: Service) -> str:
        return host_of(service)

    @admin.display(description="Created")
    def created_at(self, service: Service) -> SafeString:
        return moment(service.created)

    @admin.display(description="Changed by its owner")
    def updated_at(self, service: Service) -> SafeString:
        return moment(service.updated)


def uptimes(found: History) -> BarTable:
    periods = ((name, found.uptime(period)) for name, period in history.PERIODS.items())
    rows = [Row((name, uptime.percent, uptime.checks, uptime.failed)) for name, uptime in periods]
    return BarTable("Uptime", ("Period", "Uptime", "Checks", "Failed checks"), rows)


def host_of(service: Service) -> SafeString | str:
    """Return the account's compute with the service's address, and how to log in, or say why there is none."""
    try:
        literal = targets.parse(service.service_type, service.address).literal
    except Invalid:
        literal = None
    if literal is None:
        return "not known, because the address is a name"
    own = Instance.objects.filter(account=service.account_id).select_related("managed_settings")
    where = Q(ipv4__contains=[str(literal)]) if literal.version == 4 else Q(ipv6__startswith=f"{literal}/")
    found = own.filter(where).first()
    return "none of the account's instances" if found is None else lines([link(found), address(ssh(found))])


def notes_panel(service: Service) -> Panel:
    notes = [(words(service.notes),)] if service.notes else []
    return Panel.of("Notes of the owner", ("Note",), notes)


def secrets_panel(request: HttpRequest, service: Service) -> Panel:
    """Return the panel with the secrets for logging in: the service's credentials, and the account's key pair."""
    rows = credential_rows(request, service.credentials.defer("encrypted").order_by("label"), page_of(service))
    pair = KeyPair.objects.filter(account=service.account_id).defer("encrypted").select_related("account").first()
    if pair is not None:
        read = reveal_link(pair, page_of(service)) if request.user.has_perm("managed.decrypt_keypair") else NOTHING
        rows.append((link(pair), read, moment(pair.created), ""))
    return Panel.of(
        "Credentials and key",
        ("Secret", "", "Created", "Last decrypted"),
        rows,
        empty="The owner has not given any for this service.",
    )


def contacts_panel(service: Service) -> Panel:
    group = service.consultation_group
    found = contact_rows(contacts_of(service).order_by("name"))
    return Panel.of(
        f"Contacts of the consultation group {group}" if group else "Contacts without a group",
        ("Name", "Email", "Phone", "Second phone"),
        found,
        empty=f"None. Mails go to the address of the account, {service.account.email}.",
    )


def contact_rows(contacts: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(link(contact), contact.email, contact.phone_primary, contact.phone_secondary) for contact in contacts]


def issues_panel(service: Service) -> Panel:
    """Return the panel with the newest issues that the service was part of."""
    found = Issue.objects.filter(account=service.account_id, services__contains=[service.pk])
    return Panel.of(
        "Issues",
        ("Issue", "State", "Opened", "Closed", "Ticket"),
        (
            (
                link(issue),
                pill("closed") if issue.closed else pill("open", BAD),
                moment(issue.created),
                moment(issue.closed),
                ticket_link(issue.ticket),
            )
            for issue in found.select_related("ticket").order_by("-pk")[:ROWS_SHOWN]
        ),
        more=list_of(Issue, account__id__exact=service.account_id),
    )  # fmt: skip
