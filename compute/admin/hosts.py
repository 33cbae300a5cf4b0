"""Hosts: where instances run, how much of them is free, and whether they take new ones."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from compute.jobs.data import SIMULATED
from compute.models import Drift, Host, HostMigration, Instance, Job, Reservation
from compute.services.hosts import draining, drift_records, maintenance
from compute.services.hosts.access import fingerprint
from compute.services.hosts.placement import RESOURCES
from compute.services.hosts.registry import check_driver, check_underlay, tell_peers_soon
from config.admin.forms import MAX_REASON_LENGTH, ReasonForm
from config.admin.pages import Page, Panel
from config.admin.sizes import GigabytesField, SizesMixin
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of, moment, span
from config.admin.verbs import Verb
from config.display.quantities import size
from config.display.statuses import BAD, BUSY, GOOD, QUIET, pill, status_pill
from config.errors import Problems

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

FULL_HOST_SHARE = 0.95
"""The share of a host's memory, cores or disk in use from which on it counts as full."""
RESERVATIONS_SHOWN = 50
DRIVER_HELP = (
    "The program that controls the host. simulated: no real machines, for trying things out. qemu: real machines."
    " All"
    " hosts of a region have the same driver. It cannot change while instances are on the host."
)
NAMES = {"memory": "memory", "vcpus": "cores", "disk": "disk"}
"""The names of a host's resources on pages."""


def begin_maintenance(request: HttpRequest, host: Host) -> str:
    return f"instances that will be shut down: {maintenance.begin(host)}."


def end_maintenance(request: HttpRequest, host: Host) -> str:
    return f"instances that will be booted again: {maintenance.end(host)}."


def drain(request: HttpRequest, host: Host, given: dict[str, Any]) -> str:
    number = draining.drain(host, given["reason"])
    return f"the host takes no new instances. Moves scheduled: {number}. {given['reason']}"


def stop_draining(request: HttpRequest, host: Host) -> str:
    return f"moves cancelled: {draining.stop(host)}. The host takes no new instances until you enable it."


class DrainForm(ReasonForm):
    def __init__(self, host: Host, data: QueryDict | None = None):
        super().__init__(host, data)
        self.fields["reason"].help_text = (
            "Why the host is emptied, such as: Replacement of a disk. Owners of the instances read it in their"
            f" notifications and in the event of the move. At most {MAX_REASON_LENGTH} characters."
        )


def compare(request: HttpRequest, host: Host) -> str:
    drift_records.compare_soon(host.pk)
    return "the host will be compared with the database in a moment."


def shares(host: Host) -> dict[str, float]:
    """The share of each resource in use, from 0 to 1; 1 for a resource of which the host has none."""
    return {
        name: getattr(host, f"{name}_used") / getattr(host, name) if getattr(host, name) else 1.0
        for name in RESOURCES
    }


def is_full(host: Host) -> bool:
    """Whether the host has next to no capacity left for instances."""
    return max(shares(host).values()) >= FULL_HOST_SHARE


def drivers() -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(settings.DRIVERS)]


class HostForm(forms.ModelForm):
    """A form that keeps the capacity from falling below the reservations, which may grow while staff type."""

    driver = forms.ChoiceField(
        choices=drivers,
        initial=SIMULATED,
        help_text=DRIVER_HELP,
    )
    memory = GigabytesField(
        label="Memory for instances (GB)",
        initial=4 * 1024 * 1024,
        help_text="In GB, such as 64 or 0.5. Leave some memory of the machine for the host itself.",
    )
    disk = GigabytesField(
        label="Disk space for instances (GB)",
        initial=256 * 1024 * 1024,
        help_text="In GB, such as 2000. Leave some space of the disk for the host itself.",
    )

    class Meta:
        model = Host
        fields = ("label", "region", "enabled", "driver", "location", "shared", "underlay", *RESOURCES)
        labels: ClassVar[dict[str, str]] = {
            "enabled": "Takes new instances",
            "shared": "Shared folder for volumes",
            "underlay": "Address between hosts",
            "vcpus": "Cores for instances",
            "vcpus_used": "Cores used",
            "uuid": "UUID",
        }
        help_texts: ClassVar[dict[str, str]] = {
            "label": "The name of the host for staff, such as hv1. No other host may have it. At most 64"
            " characters.",
            "region": "The region that the host belongs to. It cannot change later.",
            "enabled": (
                "If ticked, new instances and instances that move can be placed here. If not, instances that are"
                " here"
                " keep running."
            ),
            "driver": DRIVER_HELP,
            "location": (
                "Where the driver finds the host and its folder. By ssh: ssh://root@hv1:22/var/lib/skerry. On the"
                " machine of the workers: /var/lib/skerry. Leave it empty for a simulated host."
            ),
            "shared": (
                "A folder that all hosts of the region have in common, for example by NFS, such as /srv/skerry. If"
                " empty, the host cannot have volumes."
            ),
            "underlay": (
                "The IPv4 address of the host in the network between the hosts of the region, such as 10.0.0.1. If"
                " empty, private addresses and VLANs work only between instances of this host."
            ),
            "vcpus": "The number of virtual cores that instances can have together, such as 64.",
            "key": "The fingerprint of the SSH key that was stored when the host was added.",
            "deploys": "The official images that can be deployed here.",
            "answers": "Whether the host answered the last check. Jobs wait for a host that does not answer.",
            "maintenance_since": "During maintenance, the instances of the host are off.",
            "uuid": "The identifier that clients of the API see in place of the name.",
            "open_drift": "Differences between the host and the database.",
        }

    def clean(self) -> dict[str, Any] | None:
        # locked until the row is saved, since the admin's request is one transaction
        locked = Host.objects.filter(pk=self.instance.pk).select_for_update(no_key=True).first()
        for name in RESOURCES if locked else ():
            used, asked = getattr(locked, f"{name}_used"), self.cleaned_data.get(name)
            if asked is not None and asked < used:
                self.add_error(
                    name, f"Must be at least {used if name == 'vcpus' else size(used)}, which instances use."
                )
        region, driver = self.cleaned_data.get("region", locked and locked.region), self.cleaned_data.get("driver")
        if region and driver and (locked is None or locked.driver != driver):
            problems = Problems()
            check_driver(region, driver, problems, but=locked)
            if locked and locked.instances.exists():
                problems.add(
                    "driver", "Must not change while instances are on the host: only the present driver knows them."
                )
            for problem in problems:
                self.add_error(problem.field, problem.reason)
        if underlay := self.cleaned_data.get("underlay"):
            problems = Problems()
            check_underlay(underlay, problems, but=locked)
            for problem in problems:
                self.add_error(problem.field, problem.reason)
        return super().clean()


class AnswersFilter(admin.SimpleListFilter):
    """Hosts by whether they answer."""

    title = "answers"
    parameter_name = "answers"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("yes", "Yes"), ("no", "No")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Host]) -> QuerySet[Host]:
        if self.value() not in ("yes", "no"):
            return queryset
        return queryset.filter(unreachable_since__isnull=self.value() == "yes")


class Counted(TypedDict):
    instances_number: int
    clock: datetime


@admin.register(Host)
class HostPage(SizesMixin, Page):
    task = Task.MACHINES
    form = HostForm
    sizes = ("memory", "disk")
    list_display = ("label", "region", "answers", "state", "used", "instances_count")
    list_select_related = ("region",)
    list_filter = (AnswersFilter, "region", "enabled")
    search_fields = ("^label",)
    ordering = ("label",)
    fieldsets = (
        (None, {"fields": (
            "label", "region", "enabled", ("memory", "memory_use"), ("vcpus", "vcpus_used"), ("disk", "disk_use"),
        )}),
        ("How the platform reaches it", {
            "fields": ("driver", "location", "shared", "underlay", "key", "deploys"),
            "description": (
                "To add a real machine, use the command manage.py host_add: it also installs what the host needs."
            ),
        }),
        ("State", {"fields": (
            "answers", "answers_error", "maintenance_since", ("instances_count", "live_jobs"), "open_drift",
            ("uuid", "created"),
        )}),
    )  # fmt: skip
    readonly_fields = (
        "key", "deploys", "memory_use", "vcpus_used", "disk_use", "answers", "answers_error", "maintenance_since",
        "uuid", "instances_count", "live_jobs", "open_drift", "created",
    )  # fmt: skip
    fixed = ("region",)
    verbs = (
        Verb(
            "begin-maintenance", "Begin maintenance", begin_maintenance, danger=True,
            offered=lambda host: host.maintenance is None,
            confirm="All instances of the host are shut down, and stay off until the maintenance ends. Until then,"
            " the host takes no new instances.",
        ),
        Verb(
            "end-maintenance", "End maintenance", end_maintenance,
            offered=lambda host: host.maintenance is not None,
            confirm="The instances that the maintenance stopped are booted again.",
        ),
        Verb(
            "drain", "Drain", drain, danger=True, form=DrainForm, offered=lambda host: bool(host.instances_number),
            confirm="The host takes no new instances. All its instances move to other hosts of the region that have"
            " room. A running instance is shut down, moved, and booted again.",
        ),
        Verb(
            "stop-draining", "Stop draining", stop_draining,
            offered=lambda host: not host.enabled and host.moves_waiting,
            confirm="Cancels all moves from this host that have not begun, including single moves that staff"
            " scheduled.",
        ),
        Verb("compare", "Compare with the database", compare),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        moves = HostMigration.objects.filter(instance__host=OuterRef("pk"), status=HostMigration.Status.PENDING)
        rows = super().get_queryset(request)
        return rows.annotate(instances_number=Count("instances"), moves_waiting=Exists(moves), clock=Now())

    def get_fieldsets(self, request: HttpRequest, obj: Host | None = None) -> Any:
        """Return the fieldsets. For a new host, only the fields that staff fill in."""
        found = super().get_fieldsets(request, obj)
        if obj is not None:
            return found
        typed = {*HostForm.Meta.fields}
        lines = [(title, options, [_only(line, typed) for line in options["fields"]]) for title, options in found]
        kept = [(title, {**options, "fields": [line for line in parts if line]}) for title, options, parts in lines]
        return [(title, options) for title, options in kept if options["fields"]]

    def save_model(self, request: HttpRequest, obj: Host, form: forms.ModelForm, change: bool) -> None:
        """Write only the changed fields: the reservations may have changed since the row was read."""
        obj.save(update_fields=[name for name in form.changed_data if name in form.fields] if change else None)
        if "underlay" in form.changed_data:
            tell_peers_soon(obj.region_id)

    def panels(self, request: HttpRequest, obj: Host) -> list[Panel]:
        return [draining_panel(obj), reservations_panel(obj)]

    @admin.display(description="Answers")
    def answers(self, host: "WithAnnotations[Host, Counted]") -> SafeString:
        if host.unreachable_since is None:
            return pill("yes", GOOD)
        silence = span(host.clock - host.unreachable_since)
        return pill(f"not for {silence}", BAD)

    @admin.display(description="Last error")
    def answers_error(self, host: Host) -> SafeString:
        """The driver's last error for a host that does not answer."""
        if host.unreachable_since is None:
            return NOTHING
        error = format_html('<span class="problem">{}</span>', host.unreachable_error)
        return format_html("{} (since {})", error, moment(host.unreachable_since))

    @admin.display(description="SSH host key")
    def key(self, host: Host) -> SafeString:
        """The fingerprint of the key by which a host that is reached by ssh proves itself."""
        return format_html("{}", fingerprint(host.host_key)) if host.host_key else NOTHING

    @admin.display(description="Images")
    def deploys(self, host: Host) -> SafeString:
        """The official images that can be deployed there."""
        if host.images is None:
            return pill("any image", GOOD)
        return format_html("{}", ", ".join(host.images)) if host.images else pill("no image", BAD)

    @admin.display(description="Live jobs")
    def live_jobs(self, host: Host) -> SafeString:
        """A link to the live jobs that need the host."""
        if host.pk is None:
            return NOTHING
        return format_html('<a href="{}">list of live jobs</a>', list_of(Job, host=host.pk, now="live"))

    @admin.display(description="Differences")
    def open_drift(self, host: Host) -> SafeString:
        """A link to where the host differs from the rows."""
        if host.pk is None:
            return NOTHING
        return format_html(
            '<a href="{}">list of open differences</a>', list_of(Drift, host__id__exact=host.pk, state="open")
        )

    @admin.display(description="New instances")
    def state(self, host: Host) -> SafeString:
        if host.maintenance:
            return pill("in maintenance", BUSY)
        return pill("accepted", GOOD) if host.enabled else pill("not accepted", QUIET)

    @admin.display(description="Instances")
    def instances_count(self, host: Host) -> SafeString:
        if host.pk is None:
            return 0
        number = getattr(host, "instances_number", 0)
        return format_html('<a href="{}">{}</a>', list_of(Instance, host__id__exact=host.pk), number)

    @admin.display(description="Used")
    def used(self, host: Host) -> SafeString:
        found = (
            pill(f"{NAMES[name]} {share:.0%}", BAD if share >= FULL_HOST_SHARE else QUIET)
            for name, share in shares(host).items()
        )
        return format_html_join(" ", "{}", ((each,) for each in found))

    @admin.display(description="Memory")
    def memory_in_gb(self, host: Host) -> str:
        return size(host.memory)

    @admin.display(description="Disk")
    def disk_in_gb(self, host: Host) -> str:
        return size(host.disk)

    @admin.display(description="Memory used")
    def memory_use(self, host: Host) -> str:
        return size(host.memory_used)

    @admin.display(description="Disk used")
    def disk_use(self, host: Host) -> str:
        return size(host.disk_used)

    @admin.display(description="In maintenance since")
    def maintenance_since(self, host: Host) -> SafeString:
        return moment(host.maintenance)


def _only(line: str | tuple[str, ...], names: set[str]) -> tuple[str, ...]:
    """Return the fields of a line of a fieldset that are in `names`."""
    return tuple(name for name in ([line] if isinstance(line, str) else line) if name in names)


def draining_panel(host: Host) -> Panel:
    """The moves from the host, and whether there is room for them; five queries at most."""
    progress = draining.progress(host)
    if not progress.moving + progress.waiting:
        return Panel("Moves from here", (), empty="No moves are scheduled.")
    rows = draining.moves_from(host)[:RESERVATIONS_SHOWN]
    found: list[tuple[Any, ...]] = [
        (link(row.instance), link(row, row.status), moment(row.when), row.reason, status_pill(row.instance.status))
        for row in rows
    ]
    lacking = [NAMES[name] for name, (reserved, free) in draining.room(host).items() if reserved > free]
    room = (
        pill(f"not enough {' and '.join(lacking)} on other hosts", BAD)
        if lacking
        else pill("enough room on other hosts", GOOD)
    )
    total = (
        f"{progress.left} left: {progress.moving} moving, {progress.waiting} waiting, {progress.staying} staying"
    )
    return Panel.of(
        "Moves from here",
        ("Instance", "Move", "Due", "Reason", "Status"),
        [(total, room, "", "", ""), *found],
        more=list_of(HostMigration, instance__host__id__exact=host.pk),
    )


def reservations_panel(host: Host) -> Panel:
    """The largest reservations on the host; an instance that moves has one on each of two hosts."""
    rows = (
        Reservation.objects.filter(host=host)
        .select_related("instance")
        .order_by("-memory", "pk")[:RESERVATIONS_SHOWN]
    )
    found: list[tuple[Any, ...]] = [
        (
            link(row.instance),
            size(row.memory),
            row.vcpus,
            size(row.disk),
            row.instance.host_id == host.pk,
        )
        for row in rows
    ]
    return Panel.of(
        "Reservations",
        ("Instance", "Memory", "Cores", "Disk", "State"),
        ((*cells, "here" if here else "moving") for *cells, here in found),
        more=list_of(Instance, host__id__exact=host.pk),
    )
