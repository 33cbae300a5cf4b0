"""Workers and clocks: which run, and which fell silent."""

from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import BooleanField, ExpressionWrapper, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.safestring import SafeString

from compute.models import Heartbeat
from compute.services.heartbeats import alive
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import span
from config.display.statuses import BAD, GOOD, QUIET, pill

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class StateFilter(admin.SimpleListFilter):
    """Processes by whether they run, are silent, or were stopped."""

    title = "state"
    parameter_name = "state"
    CHOICES = {"runs": "Runs", "silent": "Silent", "stopped": "Stopped"}

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return list(self.CHOICES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Heartbeat]) -> QuerySet[Heartbeat]:
        if self.value() == "runs":
            return queryset.filter(alive())
        if self.value() == "silent":
            return queryset.filter(stopped=None).exclude(alive())
        return queryset.filter(stopped__isnull=False) if self.value() == "stopped" else queryset


class Judged(TypedDict):
    clock: datetime
    alive: bool


@admin.register(Heartbeat)
class HeartbeatPage(ReadOnlyPage):
    """Rows of processes that are gone stay for a day."""

    task = Task.RECORDS
    list_display = ("name", "state", "hostname", "pid", "queues_text", "slots", "version", "started", "seen")
    list_filter = ("kind", StateFilter)
    search_fields = ("=pid", "^hostname")
    search_help_text = "A process id, or how a machine's name begins."
    ordering = ("-seen",)
    sortable_by = ()
    fields = ("kind", "state", "hostname", "pid", "queues_text", "slots", "version", "started", "seen", "stopped")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Heartbeat]:
        flag = ExpressionWrapper(alive(), output_field=BooleanField())
        return super().get_queryset(request).annotate(clock=Now(), alive=flag)

    @admin.display(description="Process")
    def name(self, row: Heartbeat) -> str:
        return row.get_kind_display()

    @admin.display(description="State")
    def state(self, row: "WithAnnotations[Heartbeat, Judged]") -> SafeString:
        if row.stopped is not None:
            return pill("stopped", QUIET)
        silence = span(row.clock - row.seen)
        return pill("runs", GOOD) if row.alive else pill(f"silent for {silence}", BAD)

    @admin.display(description="Queues")
    def queues_text(self, row: Heartbeat) -> str:
        return ", ".join(row.queues)
