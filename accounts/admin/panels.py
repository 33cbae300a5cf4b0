"""Panels and verbs that other apps add to the pages of accounts and events.

Each app registers its own at import. The accounts app imports none of them.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.actors import Actor
from accounts.entities import kind_of
from accounts.models import Account, Event
from config.admin.pages import Panel
from config.admin.value_formats import lines, link, list_of, moment, rendered
from config.admin.verbs import Verb
from config.display.statuses import QUIET, pill, status_pill

AccountPanel = Callable[[Account], Panel]
EventPanel = Callable[[Event], Panel]

account_panels: list[AccountPanel] = []
account_verbs: list[Verb] = []
event_panels: list[EventPanel] = []
EVENTS_SHOWN = 25
ROWS_SHOWN = 50
"""The maximum number of rows in a panel. A link leads to the whole list."""


def account_panel(build: AccountPanel) -> AccountPanel:
    """Register a panel for the page of an account."""
    account_panels.append(build)
    return build


def event_panel(build: EventPanel) -> EventPanel:
    """Register a panel for the page of an event."""
    event_panels.append(build)
    return build


def account_verb(verb: Verb) -> Verb:
    """Register a verb for accounts."""
    account_verbs.append(verb)
    return verb


def staff(request: HttpRequest, account_id: int) -> Actor:
    """Return the staff user of a request as an actor on an account. Events name the staff user."""
    return Actor(account_id=account_id, username=request.user.get_username(), is_staff=True)


def event_state(event: Event) -> SafeString:
    """Return the event's status and, while its job runs, its progress."""
    if event.status == Event.Status.FAILED and event.message == Event.SUPERSEDED:
        return pill("superseded", QUIET)
    state = status_pill(event.status)
    if event.status != Event.Status.STARTED:
        return state
    return format_html("{} {}", state, rendered("components/row_job.html", event=event))


def event_entity(event: Event) -> str:
    return f"{event.entity_type} {event.entity_label} ({event.entity_id})" if event.entity_type else ""


def entity_link(name: str, key: int | str, label: str) -> SafeString | str:
    """Return an entity that is named by value: a link if its kind has admin pages and uses row ids."""
    text = f"{name} {label} ({key})"
    try:
        kind = kind_of(name)
    except LookupError:
        return text
    if kind.key != "pk" or not admin.site.is_registered(kind.model):
        return text
    meta = kind.model._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(str(key))])
    return format_html('<a href="{}">{}</a>', address, text)


def events_panel(account: Account) -> Panel:
    return newest_events("Recent events", account.pk)


def newest_events(title: str, account_id: int, **about: Any) -> Panel:
    """Return the newest events of an account, or only those of the entity with these values. One query."""
    rows = Event.objects.filter(account=account_id, **about).order_by("-pk")[:EVENTS_SHOWN]
    return Panel.of(
        title,
        ("When", "Event", "Status", "By", "Message"),
        (
            (
                moment(event.created),
                lines([link(event, event.meaning), "" if about else event_entity(event)]),
                event_state(event),
                event.username or "the platform",
                "" if event.message_is_meaning else event.message,
            )
            for event in rows
        ),
        more=list_of(Event, account__id__exact=account_id, **about),
    )
