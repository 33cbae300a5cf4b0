"""Events, read-only."""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import entity_link, event_entity, event_panels, event_state
from accounts.models import Event
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, list_of

PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


class SinceFilter(admin.SimpleListFilter):
    """Rows of the last hour, day or week."""

    title = "time"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(name, f"Last {name}") for name in PERIODS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        period = PERIODS.get(self.value() or "")
        return queryset.filter(created__gt=now() - period) if period else queryset


class ActionFilter(admin.SimpleListFilter):
    """A filter by groups of actions that often fail or that customers ask about, instead of all hundred actions."""

    title = "action"
    parameter_name = "of"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [
            (prefix, prefix)
            for prefix in ("compute", "disk", "account", "user", "token", "tag", "lassie_reboot", "oauth_client")
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        prefix = self.value()
        return queryset.filter(action__startswith=prefix) if prefix else queryset


class OutcomeFilter(admin.SimpleListFilter):
    """A filter that separates failed changes from changes that ended because a customer deleted the entity."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("failed", "Failed"), ("superseded", "Superseded by a deletion")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        if self.value() == "failed":
            return queryset.failures()  # type: ignore[attr-defined] # the model's own queryset
        superseded = queryset.filter(status=Event.Status.FAILED, message=Event.SUPERSEDED)
        return superseded if self.value() == "superseded" else queryset


@admin.register(Event)
class EventPage(ReadOnlyPage):
    task = Task.RECORDS
    labels: ClassVar[Mapping[str, str]] = {
        "percent_complete": "Percent complete",
        "secondary_url": "Address of the second entity",
        "entity_url": "Address of the entity",
        "seen": "Seen by the customer",
        "read": "Read by the customer",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "duration": "In seconds, without the time in the queue.",
        "time_remaining": "In seconds.",
    }
    list_display = ("created", "age", "action", "entity", "state", "account", "by", "message")
    list_select_related = ("account",)
    list_filter = ("status", OutcomeFilter, AccountFilter, SinceFilter, ActionFilter)
    ordering = ("-id",)
    sortable_by = ()
    fieldsets = (
        (None, {"fields": ("id", "account", "action", "state", "message", "by")}),
        ("About", {"fields": ("entity", "entity_url", "secondary", "secondary_url", "all_of_entity")}),
        ("Progress", {"fields": ("created", "started", "duration", "percent_complete", "rate", "time_remaining")}),
        ("Client", {"fields": (("seen", "read"),)}),
    )

    def panels(self, request: HttpRequest, obj: Event) -> list[Panel]:
        return [build(obj) for build in event_panels]

    @admin.display(description="Entity")
    def entity(self, event: Event) -> str:
        if event.entity_id is None:
            return event_entity(event)
        return entity_link(event.entity_type, event.entity_id, event.entity_label)

    @admin.display(description="Second entity")
    def secondary(self, event: Event) -> str:
        if not event.secondary_type:
            return ""
        return entity_link(event.secondary_type, event.secondary_id, event.secondary_label)

    @admin.display(description="Status")
    def state(self, event: Event) -> SafeString:
        return event_state(event)

    @admin.display(description="By")
    def by(self, event: Event) -> str:
        return event.username or "the platform"

    @admin.display(description="All events")
    def all_of_entity(self, event: Event) -> SafeString:
        if event.entity_id is None:
            return NOTHING
        address = list_of(
            Event, account__id__exact=event.account_id, entity_type=event.entity_type, entity_id=event.entity_id
        )
        return format_html('<a href="{}">Events of this entity</a>', address)
