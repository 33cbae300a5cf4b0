"""Domains: their accounts, their settings, and the zones that name servers get."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import ROWS_SHOWN, account_panel, staff
from accounts.models import Account
from compute.admin.domains.panels import zone_panel
from compute.admin.timeline import story
from compute.models import Domain, Job
from compute.services.domains import domains
from compute.services.domains.domains import DomainSpec
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of, moment, tags
from config.admin.verbs import Verb
from config.display.statuses import status_pill


def disable(request: HttpRequest, domain: Domain) -> str:
    _set(request, domain, Domain.Status.DISABLED)
    return "disabled. Name servers stop answering for it at their next check."


def enable(request: HttpRequest, domain: Domain) -> str:
    _set(request, domain, Domain.Status.ACTIVE)
    return "enabled. Name servers answer for it from their next check on."


def delete(request: HttpRequest, domain: Domain) -> str:
    domains.delete(staff(request, domain.account_id), domain)
    return "deleted, with its records."


def _set(request: HttpRequest, domain: Domain, status: str) -> None:
    domains.update(staff(request, domain.account_id), domain, DomainSpec({"status": status}))


def no_buttons(job: Job) -> str:
    """Return no buttons: no job works on a domain, because name servers poll for changes themselves."""
    return ""


@admin.register(Domain)
class DomainPage(ReadOnlyPage):
    """Read-only: only services change a domain."""

    task = Task.NETWORK
    list_display = ("id", "label", "state", "type", "account", "updated", "age")
    list_display_links = ("id", "label")
    list_select_related = ("account",)
    list_filter = ("status", AccountFilter, "type")
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "=account_id", "^label")
    search_help_text = "The id of a domain or an account, or how a name begins."
    ordering = ("-id",)
    sortable_by = ("id",)
    fields = (
        ("state", "id"), ("account", "tags_list"), ("type", "soa_email"), ("masters", "transfers"), "serial",
        "description", ("created", "updated"),
    )  # fmt: skip
    verbs = (
        Verb(
            "disable", "Disable", disable, offered=lambda domain: domain.status == Domain.Status.ACTIVE,
            confirm="Names in the domain are not found any more. Its records are kept.",
        ),
        Verb("enable", "Enable", enable, offered=lambda domain: domain.status == Domain.Status.DISABLED),
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete",
            confirm="Deletes the domain and its records. Names in it are not found any more."
            " This cannot be undone.",
        ),
    )  # fmt: skip

    def panels(self, request: HttpRequest, obj: Domain) -> list[Panel]:
        return [story("domain", obj.pk, obj.account_id, Job.objects.none(), no_buttons), zone_panel(obj)]

    @admin.display(description="Status")
    def state(self, domain: Domain) -> SafeString:
        return status_pill(domain.status)

    @admin.display(description="Primary name servers")
    def masters(self, domain: Domain) -> str:
        return ", ".join(domain.master_ips) or NOTHING

    @admin.display(description="May transfer the zone")
    def transfers(self, domain: Domain) -> str:
        return ", ".join(domain.axfr_ips) or NOTHING

    @admin.display(description="Tags")
    def tags_list(self, domain: Domain) -> SafeString:
        return tags(domain.tags)


@account_panel
def account_domains_panel(account: Account) -> Panel:
    """The account's newest domains, on its page."""
    rows = Domain.objects.filter(account=account).order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Domains",
        ("Name", "Id", "Status", "Type", "Changed"),
        ((link(row), row.pk, status_pill(row.status), row.type, moment(row.updated)) for row in rows),
        more=list_of(Domain, account__id__exact=account.pk),
    )
