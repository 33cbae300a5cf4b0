"""Drift: differences between hosts and the database, each with one verb."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.panels import staff
from compute.models import Drift
from compute.services.hosts import drift_verbs
from compute.services.hosts.drift_records import SETTLED_FIRST, confirmed
from config.admin.attention import Notice, watcher
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import BAD, BUSY, QUIET, pill

Kind = Drift.Kind
NO_ACCOUNT = 0


def set_aside(request: HttpRequest, drift: Drift) -> str:
    job = drift_verbs.set_aside(staff(request, NO_ACCOUNT), drift)
    return f"job {job.pk} quarantines the object on {drift.host}."


def discard(request: HttpRequest, drift: Drift) -> str:
    job = drift_verbs.discard(staff(request, NO_ACCOUNT), drift)
    return f"job {job.pk} deletes the object on {drift.host}."


def define_again(request: HttpRequest, drift: Drift) -> str:
    job = drift_verbs.define_again(staff(request, NO_ACCOUNT), drift)
    return f"job {job.pk} was started."


def point_here(request: HttpRequest, drift: Drift) -> str:
    return f"the database has the host {drift_verbs.point_here(staff(request, NO_ACCOUNT), drift)} now."


def compare_again(request: HttpRequest, drift: Drift) -> str:
    drift_verbs.compare_again(drift)
    return f"{drift.host} will be compared with the database in a moment."


def of(kinds: frozenset[Kind]) -> Callable[[Drift], bool]:
    """Return a function that tells whether a verb for these kinds makes sense for a drift."""
    return lambda drift: drift.kind in kinds and confirmed(drift)


VERBS = (
    Verb(
        "set-aside", "Quarantine", set_aside, danger=True, offered=of(drift_verbs.KINDS_TO_SET_ASIDE),
        confirm="Moves the object to the quarantine of its host, where it is kept but not used. An unknown machine"
        " is shut down first. A known machine must be off, and must also exist on the host that the database has"
        " for it.",
    ),
    Verb(
        "delete", "Delete for good", discard, danger=True, offered=of(drift_verbs.KINDS_TO_DELETE),
        confirm="Deletes the object on its host, with all its data. This cannot be undone.",
    ),
    Verb(
        "define-again", "Define it again", define_again, offered=of(drift_verbs.KINDS_TO_DEFINE),
        confirm="Defines the machine on its host again, from the database, with the disks that exist there. If the"
        " instance is running in the database, the machine is booted.",
    ),
    Verb(
        "point-here", "Set the host to this one", point_here, offered=of(frozenset({Kind.WRONG_HOST})),
        confirm="Changes the host of the instance in the database to the host where its machine was found.",
    ),
)  # fmt: skip
COMPARE_AGAIN = Verb(
    "compare-again", "Compare again", compare_again,
    offered=of(frozenset({Kind.MISSING_DISK, Kind.MISSING_VOLUME, Kind.WRONG_POWER})),
)  # fmt: skip


class StateFilter(admin.SimpleListFilter):
    """Drift by whether it was confirmed, seen once, or has ended."""

    title = "state"
    parameter_name = "state"
    CHOICES = {"open": "Open", "once": "Seen once", "over": "Ended"}

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return list(self.CHOICES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Drift]) -> QuerySet[Drift]:
        match self.value():
            case "open":
                return queryset.filter(resolved_at=None, seen__gte=Drift.CONFIRMED)
            case "once":
                return queryset.filter(resolved_at=None, seen__lt=Drift.CONFIRMED)
            case "over":
                return queryset.filter(resolved_at__isnull=False)
        return queryset


def label_of(kind: str) -> str:
    """Return the label of a kind. Objects that were set aside are in quarantine."""
    return "Quarantined" if kind == Kind.SET_ASIDE else Kind(kind).label.capitalize()


class KindFilter(admin.ChoicesFieldListFilter):
    """The filter by kind, with the labels of this page."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        labels = {str(kind.label): label_of(kind) for kind in Kind}
        for choice in super().choices(changelist):
            display = str(choice["display"])
            yield {**choice, "display": labels.get(display, display)}


@admin.register(Drift)
class DriftPage(ReadOnlyPage):
    """Open drift comes first."""

    task = Task.MACHINES
    labels: ClassVar[Mapping[str, str]] = {"seen": "Comparisons in a row"}
    help_texts: ClassVar[Mapping[str, str]] = {
        "name": "The name of the machine, disk, volume or file on the host.",
        "seen": "The number of comparisons in a row that found the difference.",
        "outcome": "Why the difference ended.",
    }
    list_display = ("name", "kind_text", "host", "instance_link", "state", "detail", "first", "last")
    list_select_related = ("host", "instance", "job")
    list_filter = (StateFilter, ("kind", KindFilter), "host")
    search_fields = ("^name", "^instance__label")
    search_help_text = "How the name of the machine, disk or volume begins, or its instance's label."
    ordering = SETTLED_FIRST
    sortable_by = ()
    fields = (
        "name", "kind_text", "host", "instance_link", "state", "detail", "job_link", "seen", "first", "last",
        "ended", "outcome",
    )  # fmt: skip
    verbs = (*VERBS, COMPARE_AGAIN)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Drift]:
        return super().get_queryset(request).select_related("host", "instance", "job")

    @admin.display(description="Kind")
    def kind_text(self, drift: Drift) -> str:
        return label_of(drift.kind)

    @admin.display(description="Instance")
    def instance_link(self, drift: Drift) -> SafeString:
        return link(drift.instance)

    @admin.display(description="Job")
    def job_link(self, drift: Drift) -> SafeString:
        return link(drift.job)

    @admin.display(description="State")
    def state(self, drift: Drift) -> SafeString:
        if drift.resolved_at is not None:
            return pill("ended", QUIET)
        if not confirmed(drift):
            return pill("seen once", QUIET)
        if drift.job is not None and drift.job.finished_at is None:
            return pill("being repaired", BUSY)
        return pill("kept", QUIET) if drift.kind == Kind.SET_ASIDE else pill("open", BAD)

    @admin.display(description="First seen")
    def first(self, drift: Drift) -> SafeString:
        return moment(drift.first_seen)

    @admin.display(description="Last seen")
    def last(self, drift: Drift) -> SafeString:
        return moment(drift.last_seen)

    @admin.display(description="Ended")
    def ended(self, drift: Drift) -> SafeString:
        return moment(drift.resolved_at)


@watcher
def open_drift(request: HttpRequest) -> Iterator[Notice]:
    """The number of confirmed differences that wait for staff; one query."""
    if not request.user.has_perm("compute.view_drift"):
        return
    waiting = Drift.objects.filter(resolved_at=None, seen__gte=Drift.CONFIRMED).exclude(kind=Kind.SET_ASIDE)
    number = waiting.aggregate(number=Count("pk"))["number"]
    if number:
        yield Notice(
            f"Differences between hosts and the database: {number}",
            list_of(Drift, state="open"),
        )
