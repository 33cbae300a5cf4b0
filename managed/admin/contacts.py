"""Contacts: the people whom accounts want notified, read-only."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.models import Account
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, moment
from config.display.integers import is_id
from config.display.statuses import status_pill
from managed.models import Contact, Service

SERVICES_SHOWN = 50


@admin.register(Contact)
class ContactPage(ReadOnlyPage):
    task = Task.MONITORING
    list_display = ("id", "name", "account", "group", "email", "phone_primary", "phone_secondary")
    list_display_links = ("id", "name")
    list_select_related = ("account",)
    list_filter = (AccountFilter,)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "^name", "email", "group")
    search_help_text = "Id, email, group, or how a name, company or account's email begins."
    ordering = ("-id",)
    sortable_by = ()
    fields = (("name", "account"), ("email", "group"), ("phone_primary", "phone_secondary"), "updated_at")

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        return super().matches(term) | Q(account__in=owner)

    def panels(self, request: HttpRequest, obj: Contact) -> list[Panel]:
        return [services_panel(obj)]

    @admin.display(description="Updated")
    def updated_at(self, contact: Contact) -> SafeString:
        return moment(contact.updated)


def services_panel(contact: Contact) -> Panel:
    """Return the panel with the services of whose failures the contact is notified."""
    consulted = Service.objects.filter(account=contact.account_id, consultation_group=contact.group or "")
    return Panel.of(
        "Notified about",
        ("Service", "Status"),
        ((link(service), status_pill(service.status)) for service in consulted.order_by("label")[:SERVICES_SHOWN]),
        empty="No service notifies this group.",
    )
