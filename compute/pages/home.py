"""Home: what needs attention, the account's instances by status, and recent events."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.timezone import now
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.base import AccountPage, signed_in
from accounts.pages.entity_links import hide_secondary
from compute.models import Instance
from compute.serializers.notices import TOPICS, Topic
from compute.services import notices
from config.pages.views import fragment, version_of

NOTICES_SHOWN = FAILURES_SHOWN = 10
EVENTS_SHOWN = 12
FAILED_FOR = timedelta(days=2)
"""The time for which home shows a failed event."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice for the account: `severity` is ``major`` or ``critical``, `instance` an id, or None for a region."""

    severity: str
    label: str
    message: str
    reason: str
    when: datetime | None
    instance: int | None


class HomeView(AccountPage, TemplateView):
    """``/home``. Staff have no account, and are redirected to their profile."""

    template_name = "compute/home.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated and signed_in(request).account_id is None:
            return redirect("profile")
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**overview(self.actor), **kwargs)


class HomeStateView(AccountPage, TemplateView):
    """``/home/state?seen=…``: the content of home, if it has changed."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return fragment(request, "compute/home_state.html", overview(self.actor))


def overview(actor: Actor) -> dict[str, Any]:
    """The context of home for the actor, and its version `seen`. Four queries, and those of `hide_secondary`."""
    counts = dict(Instance.objects.visible_to(actor).values_list("status").annotate(Count("pk")).order_by("status"))
    events = Event.objects.visible_to(actor)
    failures = list(events.failures().filter(created__gte=now() - FAILED_FOR).order_by("-pk")[:FAILURES_SHOWN])
    recent = list(events.order_by("-pk")[:EVENTS_SHOWN])
    hide_secondary(actor, [*failures, *recent])
    notices = notices_for(actor)
    progress = [(event.pk, event.status, event.percent_complete) for event in recent]
    return {
        "counts": counts,
        "total": sum(counts.values()),
        "may_add": actor.may("add_computes"),
        "notices": notices,
        "failures": failures,
        "events": recent,
        "seen": version_of(counts, notices, [event.pk for event in failures], progress),
    }


def notices_for(actor: Actor) -> list[Notice]:
    """The account's notices as the API tells them, soonest first. One query."""
    rows = notices.united(notices.notifications(actor))
    shown = rows.order_by("notice_when", "notice_id", "notice_label")[:NOTICES_SHOWN]
    return [_notice(row, TOPICS[row["notice_topic"]]) for row in shown]


def _notice(row: dict[str, Any], topic: Topic) -> Notice:
    message = topic.about(row["notice_label"])
    return Notice(topic.severity, topic.label, message, row["notice_body"], row["notice_when"], row["notice_id"])
