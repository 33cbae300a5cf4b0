"""The events of the account."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.utils.functional import SimpleLazyObject

from accounts.filters.events import EventListFilterSet
from accounts.models import Event
from accounts.pages.base import AccountPage
from accounts.pages.entity_links import Key, addresses_of, hide_secondary, main_key, secondary_key
from compute.pages.base import UNDER_WAY
from config.pages.lists import Column, ListView
from config.pages.views import fragment, is_htmx, version_of


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event with the addresses of its objects' pages. None without a page that the user may see."""

    event: Event
    address: str | None
    secondary_address: str | None


class EventsView(AccountPage, ListView):
    """``/home/events``: the events of the last 90 days that the user may see.

    htmx gets the table alone, if it has changed.
    """

    template_name = "compute/events.html"
    filterset_class = EventListFilterSet
    newest_first = True
    columns = (Column("Time", "time", F("pk")), Column("Event"), Column("Object"), Column("User"), Column("Status"))
    extra_context = {"heading": "Events", "no_match": "No events match"}

    def get_queryset(self) -> QuerySet[Event]:
        return Event.objects.visible_to(self.actor)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        events = list(context["page_obj"])
        query = self.request.GET.copy()
        query.pop("seen", None)
        return {
            **context,
            "rows": SimpleLazyObject(partial(self.rows, events)),
            "unsettled": any(event.status in UNDER_WAY for event in events),
            "query": query.urlencode(),
            "seen": version_of([(each.pk, each.status, each.percent_complete, each.message) for each in events]),
        }

    def rows(self, events: list[Event]) -> list[EventRow]:
        """Return the events with the addresses of their objects. The template calls it: most requests of open
        pages only compare `seen`.
        """
        hide_secondary(self.actor, events)
        keys = [(main_key(event), secondary_key(event)) for event in events]
        found = addresses_of(self.actor, (key for pair in keys for key in pair))

        def address(key: Key | None) -> str | None:
            return None if key is None else found.get(key)

        return [
            EventRow(event, address(main), address(second))
            for event, (main, second) in zip(events, keys, strict=True)
        ]

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        if is_htmx(self.request):
            return fragment(self.request, "compute/events_part.html", context)
        return super().render_to_response(context, **kwargs)
