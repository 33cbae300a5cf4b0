"""Consoles in browsers: present and past sessions, and the reasons that staff gave."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import InstancesAccountFilter
from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config.admin.pages import HostFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import BUSY, GOOD, QUIET, pill


def is_in_use(session: ConsoleSession) -> bool:
    """Tell whether somebody is at the console, by this machine's clock; services use the database's clock."""
    seen = session.seen is not None and now() - session.seen < ConsoleSession.SILENCE
    return session.opened is not None and session.ended is None and seen


def end(request: HttpRequest, session: ConsoleSession) -> str:
    consoles.end(session)
    return "the console closes within seconds."


def state_of(session: ConsoleSession) -> SafeString:
    if is_in_use(session):
        return pill("open", GOOD)
    if session.opened is None:
        return pill("requested", QUIET)
    return pill("ended", QUIET) if session.ended else pill("its server stopped", BUSY)


def who(session: ConsoleSession) -> SafeString:
    named = link(session.user) if session.user else format_html("{} (deleted)", session.username)
    return format_html("{} {}", named, pill("staff", BUSY)) if session.staff else named


@admin.register(ConsoleSession)
class ConsoleSessionPage(ReadOnlyPage):
    """Console sessions, the newest first."""

    task = Task.MACHINES
    list_display = ("created_at", "state", "instance_link", "who", "reason", "ip", "opened_at", "ended_at")
    list_display_links = ("created_at",)
    list_select_related = ("instance", "user")
    list_filter = ("staff", InstancesAccountFilter, ("instance__host", HostFilter))
    search_fields = ("=instance_number", "^instance_label", "^instance__label", "username", "user__username")
    search_help_text = (
        "An instance's id, how its label begins, or a username. Former labels and usernames count too."
    )
    ordering = ("-id",)
    sortable_by = ()
    link_filters = ("instance__id__exact",)
    secret = ("ticket", "browser", "credentials", "origin")
    fields = (
        "instance_link", "who", "state", "reason", "ip", "created_at", "opened_at", "ended_at", "outcome",
    )  # fmt: skip
    verbs = (
        Verb("end", "End session", end, danger=True, offered=is_in_use, confirm="Closes the console of this user."),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsoleSession]:
        return super().get_queryset(request).select_related("instance", "user")

    @admin.display(description="Instance")
    def instance_link(self, session: ConsoleSession) -> SafeString:
        if session.instance is not None:
            return link(session.instance)
        return format_html("{} ({}, deleted)", session.instance_label, session.instance_number)

    @admin.display(description="User")
    def who(self, session: ConsoleSession) -> SafeString:
        return who(session)

    @admin.display(description="State")
    def state(self, session: ConsoleSession) -> SafeString:
        return state_of(session)

    @admin.display(description="Requested")
    def created_at(self, session: ConsoleSession) -> SafeString:
        return moment(session.created)

    @admin.display(description="Opened")
    def opened_at(self, session: ConsoleSession) -> SafeString:
        return moment(session.opened)

    @admin.display(description="Ended")
    def ended_at(self, session: ConsoleSession) -> SafeString:
        return moment(session.ended)


def consoles_panel(instance: Instance) -> Panel:
    """The last console sessions of the instance, and a link to open its console."""
    rows = ConsoleSession.objects.filter(instance=instance).select_related("user").order_by("-pk")[:5]
    found: list[tuple[Any, ...]] = [
        (link(row, f"{row.created:%Y-%m-%d %H:%M}"), state_of(row), who(row), row.reason, moment(row.ended))
        for row in rows
    ]
    address = reverse("staff-console", args=[instance.pk])
    found.append((format_html('<a href="{}">open the console</a>', address), "", "", "", ""))
    return Panel.of(
        "Consoles",
        ("Requested", "State", "User", "Reason", "Ended"),
        found,
        more=list_of(ConsoleSession, instance__id__exact=instance.pk),
    )
