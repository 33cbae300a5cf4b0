"""Host migrations: scheduled by staff, shown to the owner, and started by staff, the owner or the clock."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from accounts.admin.filters import InstancesAccountFilter
from accounts.admin.panels import staff
from compute.admin.jobs import started
from compute.models import HostMigration, Instance
from compute.services.hosts import moves
from config.admin.pages import HostFilter, Page, Panel
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import status_pill
from config.errors import Invalid

Status = HostMigration.Status


def start(request: HttpRequest, migration: HostMigration) -> str:
    if migration.status != Status.PENDING:
        raise Invalid("Only a migration that is pending can be started.")
    return started(moves.migrate(staff(request, migration.instance.account_id), migration.instance))


def cancel(request: HttpRequest, migration: HostMigration) -> str:
    moves.cancel(migration)
    return "the instance stays on its host."


def is_pending(migration: HostMigration) -> bool:
    return migration.status == Status.PENDING


class MigrationForm(forms.ModelForm):
    """Rejects an instance that has an open migration: a form does not check conditional constraints itself."""

    class Meta:
        model = HostMigration
        fields = ("instance", "when", "reason")
        labels: ClassVar[dict[str, str]] = {"when": "Start (UTC)"}
        help_texts: ClassVar[dict[str, str]] = {
            "instance": "Type the id of the instance, or the beginning of its label, and choose it from the list.",
            "when": "When the move starts. The owner can start it earlier. A running instance is shut down for it.",
            "reason": "Such as: The host gets new disks. The owner reads it. If empty, the owner reads no reason.",
        }

    def clean_instance(self) -> Instance:
        instance: Instance = self.cleaned_data["instance"]
        if instance.host_migrations.filter(status__in=(Status.PENDING, Status.STARTED)).exists():
            raise forms.ValidationError("A migration of this compute is scheduled already.")
        return instance


@admin.register(HostMigration)
class HostMigrationPage(Page):
    """Migrations are added and cancelled, never changed: they may start at any moment as they are."""

    task = Task.MACHINES
    form = MigrationForm
    list_display = ("instance_link", "state", "due", "reason", "age")
    list_display_links = ("due",)
    list_select_related = ("instance",)
    list_filter = ("status", InstancesAccountFilter, ("instance__host", HostFilter))
    link_filters = ("instance__host__id__exact",)
    search_fields = ("=instance_id", "^instance__label")
    search_help_text = "An instance's id, or how its label begins."
    ordering = ("-id",)
    sortable_by = ()
    autocomplete_fields = ("instance",)
    verbs = (
        Verb(
            "start", "Start now", start, offered=is_pending,
            confirm="The instance moves to another host of its region. If it runs, it is shut down, moved, and"
            " booted"
            " again.",
        ),
        Verb("cancel", "Cancel", cancel, danger=True, offered=is_pending),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[HostMigration]:
        return super().get_queryset(request).select_related("instance")

    def get_fields(self, request: HttpRequest, obj: HostMigration | None = None) -> tuple[str, ...]:
        asked = ("instance", "when", "reason")
        return asked if obj is None else ("instance_link", "state", "due", "reason", "created")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return () if obj is None else self.get_fields(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: HostMigration | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: HostMigration | None = None) -> bool:
        """Migrations stay readable. A migration that should not happen is cancelled."""
        return False

    @admin.display(description="Instance")
    def instance_link(self, migration: HostMigration) -> SafeString:
        return link(migration.instance)

    @admin.display(description="Status")
    def state(self, migration: HostMigration) -> SafeString:
        return status_pill(migration.status)

    @admin.display(description="Start", ordering="when")
    def due(self, migration: HostMigration) -> SafeString:
        return moment(migration.when)


def migrations_panel(instance: Instance) -> Panel:
    """The instance's host migrations, on its page, and a link to schedule one."""
    rows = instance.host_migrations.order_by("-pk")[:5]
    found: list[tuple[Any, ...]] = [
        (link(row, f"{row.pk}"), status_pill(row.status), moment(row.when), row.reason) for row in rows
    ]
    address = f"{reverse('admin:compute_hostmigration_add')}?{urlencode({'instance': instance.pk})}"
    if not any(row.status in (Status.PENDING, Status.STARTED) for row in rows):
        found.append((format_html('<a href="{}">schedule a migration</a>', address), "", "", ""))
    return Panel.of(
        "Host migrations",
        ("Id", "Status", "Start", "Reason"),
        found,
        more=list_of(HostMigration, instance__id__exact=instance.pk),
    )
