"""The events of one instance: a page of all, and the newest ones on the overview. Both update themselves."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.models import Event
from compute.models import Instance
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
        rows = _events(self.actor, self.instance)
        page = Paginator(rows, EVENTS_ON_A_PAGE).get_page(self.request.GET.get("page"))
        events = list(page)
        return {"page": page, "events": events, "events_seen": _version(events)}


class EventsView(InstancePage, TemplateView):
    """``/home/instances/<id>/events?seen=…``: the newest events, if they have changed."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        events = events_of(self.actor, self.instance)
        context = {"instance": self.instance, **events, "seen": events["events_seen"]}
        return fragment(request, "compute/instance_events.html", context)


def events_of(actor: Actor, instance: Instance) -> dict[str, Any]:
    """The newest events of the instance that the actor may see. One query."""
    events = list(_events(actor, instance)[:EVENTS_SHOWN])
    return {"events": events, "events_seen": _version(events)}


def _events(actor: Actor, instance: Instance) -> QuerySet[Event]:
    rows = Event.objects.visible_to(actor).filter(entity_type="compute", entity_id=instance.pk)
    return rows.order_by("-pk")


def _version(events: list[Event]) -> str:
    return version_of(*((event.pk, event.status, event.message) for event in events))
