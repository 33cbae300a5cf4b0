"""The pages of instances: one instance's overview, and its head, which updates itself."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.timezone import now
from django.views.generic import TemplateView
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from compute.models import Address, Instance
from compute.pages.activity import newest_events
from compute.pages.base import InstancePage, InstanceTab, state_of
from compute.serializers.networking.addresses import reverse_name
from compute.serializers.notices import TOPICS
from compute.services import notices
from compute.services.networking.overview import networking
from compute.services.stats import transfer
from config.pages.views import UNCHANGED_STATUS, fragment, is_htmx, version_of
from regions.countries import country_name

GONE = "This instance has been deleted, or you may not see it any more."
CHANGED = "instance-changed"
"""The event in the browser by which other parts of a page learn that the instance or its events changed."""


class InstanceView(InstanceTab, TemplateView):
    """``/home/instances/<id>``: the overview with addresses, type, transfer and events.

    htmx gets the part above the events alone, if it has changed.
    """

    template_name = "compute/instance_overview.html"
    tab = "instance"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_htmx(request):
            facts = self.facts()
            context = {"instance": self.instance, **facts, "seen": facts["facts_seen"]}
            return fragment(request, "compute/instance_facts.html", context)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            **self.facts(), **newest_events(self.actor, "compute", self.instance.pk), **kwargs
        )

    def facts(self) -> dict[str, Any]:
        """Return the addresses, the properties, the transfer and the notices, and their version `facts_seen`."""
        instance, found = self.instance, networking(self.instance)
        shown = {
            "addresses": list(addresses_of([*found.public, *found.private, *filter(None, [found.slaac])])),
            "ranges": found.ranges,
            "notices": list(self.notices()),
            "transfer": transfer_of(instance),
        }
        properties = (
            instance.type_id, instance.region_id, instance.image_id, instance.group, instance.tags,
            instance.backups_enabled, instance.backups_last_successful,
        )  # fmt: skip
        return {
            **shown,
            "ssh_address": next((address.address for address in [*found.public, *filter(None, [found.slaac])]), ""),
            "country": country_name(instance.region.country),
            "facts_seen": version_of(shown, properties),
        }

    def notices(self) -> Iterator[dict[str, Any]]:
        """The platform's notices about the instance, such as maintenance of its host."""
        for row in notices.of_instance(self.actor, self.instance):
            message = TOPICS[row["notice_topic"]].about(row["notice_label"])
            yield {"message": message, "reason": row["notice_body"], "when": row["notice_when"]}


class InstanceStateView(InstancePage, TemplateView):
    """``/home/instances/<id>/state?seen=…``: the head of the instance's pages, if it has changed.

    When the instance is deleted, its open pages redirect to the list.
    """

    def get_queryset(self) -> QuerySet[Instance]:
        """Return the instances that the user may see. Open pages poll this view, so no other tables are read."""
        return Instance.objects.visible_to(self.actor)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Http404:
            if not is_htmx(request):
                raise
            messages.info(request, GONE)
            return HttpResponseClientRedirect(reverse("instances"))

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # the template calls the function: while nothing has changed, no query asks for the grant
        may = {"may_change": lambda: self.may_change, "may_clone": self.actor.may("add_computes")}
        context = {"instance": self.instance, **may, **state_of(self.instance)}
        answer = fragment(request, "compute/instance_state.html", context)
        return answer if answer.status_code == UNCHANGED_STATUS else trigger_client_event(answer, CHANGED)


def addresses_of(addresses: list[Address]) -> Iterator[dict[str, Any]]:
    """Addresses with their kinds and reverse names."""
    for row in addresses:
        kind = "IPv6" if ":" in row.address else "Public IPv4" if row.public else "Private IPv4"
        yield {"kind": kind, "address": row.address, "name": reverse_name(row.address, row.public, row.rdns)}


def transfer_of(instance: Instance) -> dict[str, Any]:
    """The transfer that the instance has used this month, in words and in percent. One query."""
    allotment = transfer.of_instance(instance, now())
    used = allotment.used / transfer.GB
    percent = min(100, round(100 * used / allotment.quota)) if allotment.quota else 0
    return {"text": f"{used:,.2f} GB of {allotment.quota:,} GB", "percent": percent, "beyond": allotment.billable}
