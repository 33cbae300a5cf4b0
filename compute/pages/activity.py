"""The events of one instance: a page of all, and the newest ones on the overview. Both update themselves.

Pages of other objects list their events with `events_about`, and `newest_events` on an overview.
"""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.entity_links import hide_secondary
from compute.pages.base import InstancePage, InstanceTab
from config.pages.views import fragment, is_htmx, version_of

EVENTS_SHOWN = 8
EVENTS_ON_A_PAGE = 50


class ActivityView(InstanceTab, TemplateView):
    """``/home/instances/<id>/activity``: all events of the instance that the user may see.

    htmx gets the list alone, if it has changed.
    """

    template_name = "compute/instance_activity.html"
    tab = "instance-activity"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_htmx(request):
            events = self.events()
            context = {"instance": self.instance, **events, "seen": events["events_seen"]}
            return fragment(request, "compute/instance_activity_part.html", context)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**self.events(), **kwargs)

    def events(self) -> dict[str, Any]:
        return events_about(self.actor, "compute", self.instance.pk, self.request.GET.get("page"))


class EventsView(InstancePage, TemplateView):
    """``/home/instances/<id>/events?seen=…``: the newest events, if they have changed."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        events = newest_events(self.actor, "compute", self.instance.pk)
        context = {"instance": self.instance, **events, "seen": events["events_seen"]}
        return fragment(request, "compute/instance_events.html", context)


def newest_events(actor: Actor, kind: str, pk: int) -> dict[str, Any]:
    """The newest events of an entity that the actor may see. One query, and those of `hide_secondary`."""
    events = list(_events(actor, kind, pk)[:EVENTS_SHOWN])
    hide_secondary(actor, events)
    return {"events": events, "events_seen": _version(events)}


def events_about(actor: Actor, kind: str, pk: int, number: str | None) -> dict[str, Any]:
    """A page of the events of an entity that the actor may see, by the number in the address.

    Two queries, and those of `hide_secondary`.
    """
    page = Paginator(_events(actor, kind, pk), EVENTS_ON_A_PAGE).get_page(number)
    events = list(page)
    hide_secondary(actor, events)
    return {"page": page, "events": events, "events_seen": _version(events)}


def _events(actor: Actor, kind: str, pk: int) -> QuerySet[Event]:
    return Event.objects.visible_to(actor).filter(entity_type=kind, entity_id=pk).order_by("-pk")


def _version(events: list[Event]) -> str:
    return version_of(*((event.pk, event.status, event.message) for event in events))
