"""Services: the list, the page of a service with its uptime and response times, and its verbs."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.timezone import now
from django.views.generic import TemplateView

from accounts.pages.base import AccountPage, signed_in
from accounts.pages.live_pages import LiveListPage, LiveObjectPage
from accounts.pages.objects import ObjectConfirmationPage
from compute.pages.activity import events_about
from config.pages.grants import UNRESTRICTED
from config.pages.lists import Column, Row, Verb
from config.pages.navigation import NOUNS
from config.pages.views import VerbView, is_htmx
from managed.display import charts_of
from managed.filters import ServiceListFilterSet
from managed.models import Service
from managed.pages.base import SERVICES, ManagedListPage, ManagedObjectPage
from managed.services import history, services
from managed.services.incidents import contacts_of


class OffView(AccountPage, TemplateView):
    """The page of an account that has not enabled managed monitoring: what it is, and how to enable it."""

    grant = UNRESTRICTED
    template_name = "managed/off.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(heading=NOUNS["monitoring"].label, **kwargs)


class ServicesView(ManagedListPage, LiveListPage):
    """``/home/monitoring``: the services of the account. The rows update themselves."""

    template_name = "managed/services.html"
    part_template = "managed/services_part.html"
    model = Service
    new = "monitoring-service-new"
    filterset_class = ServiceListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Status", "status"),
        Column("Type", "type", F("service_type")),
        Column("Address", "address"),
        Column("Region", "region", F("region_id")),
        Column("Contacts", "group", F("consultation_group")),
        Column("Last check", "checked", F("checked_at")),
    )

    def when_off(self) -> HttpResponseBase:
        return OffView.as_view()(self.request)

    def verbs_of(self, found: Service) -> tuple[Verb, ...]:
        return verbs_of(found)

    def values_of(self, rows: Iterable[Row]) -> Iterable[Any]:
        for row in rows:
            service: Service = row.object
            yield service.pk, service.status, service.checked_at, service.error, service.updated


class ServicePage(ManagedObjectPage):
    """A page of one service."""

    model = Service
    home = "monitoring-service"

    @property
    def service(self) -> Service:
        found: Service = self.object
        return found


class ServiceView(ServicePage, LiveObjectPage):
    """``/home/monitoring/<id>``: the status of a service, its uptime, its response times and its events.

    The part with the status updates itself.
    """

    template_name = "managed/service.html"
    part_template = "managed/service_part.html"
    tab = "monitoring-service"
    gone = "This service has been deleted."

    def get_queryset(self) -> QuerySet[Service]:
        return super().get_queryset().select_related("issue__ticket")

    def shown(self) -> dict[str, Any]:
        return {"service": self.service, "verbs": verbs_of(self.service), "contacts": contacts_of(self.service)}

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        service = self.service
        names = [contact.name for contact in shown["contacts"]]
        return service.status, service.checked_at, service.error, service.issue_id, service.updated, names

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        if is_htmx(self.request):
            return context
        found = history.history(self.service, now())
        uptimes = [(name, found.uptime(period)) for name, period in history.PERIODS.items()]
        charts = list(charts_of(found, signed_in(self.request).timezone))
        credentials = self.service.credentials.order_by("label")
        events = events_about(self.actor, "managed_service", self.service.pk, self.request.GET.get("page"))
        return {**context, "uptimes": uptimes, "charts": charts, "credentials": credentials, **events}


class EnableView(ServicePage, VerbView):
    """``/home/monitoring/<id>/enable``."""

    operations = frozenset({"managed_services_enable"})

    def perform(self) -> str:
        services.enable(self.actor, self.service)
        return f"The service {self.service} is checked again."


class DisableView(ServicePage, VerbView):
    """``/home/monitoring/<id>/disable``."""

    operations = frozenset({"managed_services_disable"})

    def perform(self) -> str:
        services.disable(self.actor, self.service)
        return f"The service {self.service} is no longer checked."


class DeleteView(ServicePage, ObjectConfirmationPage):
    """``/home/monitoring/<id>/delete``."""

    operations = frozenset({"managed_services_destroy"})
    heading = "Delete {page.object}"
    introduction = (
        "The service is no longer checked, and its history is deleted. Its issues stay. This cannot be undone."
    )
    verb = "Delete service"

    def perform(self, form: forms.Form) -> str:
        services.delete(self.actor, self.service)
        return f"The service {self.service} was deleted."

    def get_success_url(self) -> str:
        return reverse(SERVICES)


def verbs_of(service: Service) -> tuple[Verb, ...]:
    def verb(name: str, label: str, *, posted: bool = False) -> Verb:
        return Verb(label, reverse(f"monitoring-service-{name}", args=[service.pk]), posted=posted)

    if service.status == Service.Status.DISABLED:
        switch = verb("enable", "Enable", posted=True)
    else:
        switch = verb("disable", "Disable", posted=True)
    return verb("edit", "Edit"), switch, verb("delete", "Delete")
