"""Jobs: the stuck ones, the reasons, and the actions of staff."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.admin.panels import event_panel, staff
from accounts.models import Account, Event, User
from compute.admin import job_status
from compute.admin.job_status import JobProgress, with_progress
from compute.admin.step_times import steps_panel
from compute.admin.usual_times import slow, usual_times
from compute.jobs import queue
from compute.jobs.definition import KINDS
from compute.models import Host, Instance, Job
from compute.services.hosts import abandoned_undos
from compute.services.hosts.unreachable_hosts import jobs_needing
from config.admin.forms import ReasonForm
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, age, lines, link, list_of, pretty
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.errors import Invalid

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


def run_now(request: HttpRequest, job: Job) -> str:
    if not queue.run_now(job):
        raise Invalid("The job is finished, is queued behind another job, or a worker runs it now.")
    return "the job is due now, and workers were notified."


def waits_for_a_worker(job: Job) -> bool:
    """Tell whether "Run now" has an effect: no worker runs the job, and it does not wait for a silent host."""
    return job.state in Job.LIVE and job.lease_until is None and job.waits_for_id is None


def cancel(request: HttpRequest, job: Job) -> str:
    if not queue.cancel(job):
        raise Invalid("The job is finished, is queued, or is already being undone.")
    return "the job will stop before its next step and undo its steps as far as possible."


class GiveUpForm(ReasonForm):
    """The reason, and the confirmation that staff have handled what the job leaves behind."""

    gone = forms.BooleanField(
        label="The host is off permanently, or has no network any more",
        help_text=(
            "Tick this only if nothing on the host can run or answer. Afterwards, other instances can get the"
            " addresses and the capacity of this instance."
        ),
    )


def give_up(request: HttpRequest, job: Job, given: dict[str, Any]) -> str:
    about = job.instance or job.volume or job.event
    abandoned_undos.give_up(staff(request, about.account_id if about else 0), job, given["reason"])
    return f"the job ends in a moment. Its error names what is left on the host. {given['reason']}"


def started(job: Job | None) -> str:
    """Return the message of an admin action that enqueued `job`, or needed no job (None)."""
    if job is None:
        return "there is nothing to do."
    return f"job {job.pk} {'is queued behind the live job' if job.state == Job.State.QUEUED else 'was started'}."


class JobKindFilter(admin.SimpleListFilter):
    """Jobs of one kind."""

    title = "kind"
    parameter_name = "kind"
    template = "admin/closed_filter.html"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(name, name) for name in KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


class ProgressFilter(admin.SimpleListFilter):
    """Live jobs by their progress. Every choice reads only the small index of live jobs."""

    title = "right now"
    parameter_name = "now"
    CHOICES = {
        "stuck": ("Stuck", job_status.stuck),
        job_status.OVERDUE: ("… overdue", job_status.overdue),
        job_status.RETRYING: ("… retrying", job_status.retrying),
        job_status.LEASED: ("A worker runs it", job_status.leased),
        job_status.WAITING: ("Waiting", job_status.waiting),
        "slow": ("… slower than usual", lambda: slow(usual_times())),
        "live": ("All live jobs", job_status.live),
    }

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in self.CHOICES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        chosen = self.CHOICES.get(self.value() or "")
        return queryset.filter(chosen[1]()) if chosen else queryset


def key_of(value: str | None) -> int:
    """The key given to a filter. Raises `ValueError` where `value` is not a number."""
    if not is_id(value or ""):
        raise ValueError(value)
    return int(value or "")


class JobHostFilter(admin.SimpleListFilter):
    """Jobs of the instances that are on a host or were on it to their end, and all live jobs that need the host."""

    title = "host"
    parameter_name = "host"
    template = "admin/closed_filter.html"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(str(pk), label) for pk, label in Host.objects.order_by("label").values_list("pk", "label")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.value():
            return queryset
        host = key_of(self.value())
        # a union, whose parts use their indexes; one condition on both would read all jobs
        on_it = Job.objects.filter(instance__host=host).order_by().values("pk")
        was_on_it = Job.objects.filter(last_host=host).order_by().values("pk")
        return queryset.filter(pk__in=on_it.union(was_on_it, jobs_needing(host).order_by().values("pk")))


class JobAccountFilter(admin.SimpleListFilter):
    """Jobs of an account, including jobs of deleted instances. Only accounts with live jobs are offered, as a list
    of all is too long."""

    title = "account"
    parameter_name = "account"
    template = "admin/closed_filter.html"
    OFFERED = 10

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        busy = Event.objects.filter(pk__in=Job.objects.filter(job_status.live()).values("event"))
        accounts = Account.objects.filter(pk__in=busy.values("account")).order_by("pk")[: self.OFFERED]
        offered = {account.pk: str(account) for account in accounts}
        chosen = self.value() or ""
        if is_id(chosen) and int(chosen) not in offered:
            offered |= {account.pk: str(account) for account in Account.objects.filter(pk=int(chosen))}
        return [(str(key), name) for key, name in offered.items()]

    def has_output(self) -> bool:
        return True  # also where none is offered, or a value would not count

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.value():
            return queryset
        account = key_of(self.value())
        theirs = Job.objects.filter(instance__account=account).order_by().values("pk")
        recorded = Job.objects.filter(event__account=account).order_by().values("pk")
        return queryset.filter(pk__in=theirs.union(recorded))


@admin.register(Job)
class JobPage(ReadOnlyPage):
    task = Task.MACHINES
    labels: ClassVar[Mapping[str, str]] = {
        "run_at": "Next attempt",
        "notified_at": "Workers notified",
        "fence": "Claims",
        "finished_at": "Finished",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "fence": "How often a worker has claimed the job.",
        "lease": "Until this time, no other worker takes the job.",
        "deadline": "If the job is not finished by then, it fails.",
    }
    list_display = ("name", "instance_link", "account", "host", "progress", "details", "began")
    list_filter = (ProgressFilter, "state", JobHostFilter, JobAccountFilter, JobKindFilter)
    search_fields = ("=instance_id", "^instance__label")
    search_help_text = "Id of an instance or job, username, or how a label, company or account's email begins."
    ordering = ("-id",)
    secret = ("encrypted",)
    sortable_by = ()
    fieldsets = (
        (None, {"fields": (
            ("instance_link", "account"), "host", "progress", "plan", "step_of", "attempts", "error_text",
        )}),
        ("Lease and times", {"fields": ("timing", "lease", "run_at", "notified_at", "deadline", "fence")}),
        ("Request", {"fields": ("by", "event_link", "pretty_data")}),
        ("Dates", {"fields": (("created", "finished_at"),)}),
    )  # fmt: skip
    verbs = (
        Verb(
            "run_now", "Run now", run_now, offered=waits_for_a_worker,
            ask_for_many="Workers try the selected jobs again at once.",
        ),
        Verb(
            "cancel", "Cancel", cancel, danger=True,
            offered=lambda job: job.state == Job.State.ACTIVE and not job.cancelled,
            confirm="The job stops before its next step, and undoes its steps, as after a failure. A cancelled"
            " creation removes the instance. A deletion continues.",
        ),
        Verb(
            "give-up", "Stop undoing", give_up, danger=True, form=GiveUpForm,
            offered=abandoned_undos.is_possible,
            confirm="Only for a host that never answers again. The job ends as failed. The machines, disks and"
            " volumes of steps that were not undone stay on the host. A deletion ends as if it had succeeded.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return with_progress(super().get_queryset(request)).select_related(
            "instance__account", "instance__host", "last_host", "volume__account", "event__account"
        )  # fmt: skip

    def panels(self, request: HttpRequest, obj: "WithAnnotations[Job, job_status.ProgressColumns]") -> list[Panel]:
        return [steps_panel(JobProgress(obj), usual_times())]

    def matches(self, term: str) -> Q:
        if is_id(term):
            return Q(instance_id=int(term)) | Q(pk=int(term))
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        user = User.objects.filter(username=term, account__isnull=False)
        theirs = Q(account__in=owner) | Q(account__in=user.values("account"))
        return Q(instance__in=Instance.objects.filter(theirs | Q(label__istartswith=term)))

    @admin.display(description="Job", ordering="-id")
    def name(self, job: Job) -> str:
        return f"{job.pk} {job.kind}"

    @admin.display(description="Created")
    def began(self, job: Job) -> SafeString:
        """The day above the time, so that the row fits the page, and how long ago that was."""
        return lines(
            [f"{job.created:%Y-%m-%d}", f"{job.created:%H:%M:%S}", format_html("{} ago", age(job.created))]
        )

    @admin.display(description="Instance")
    def instance_link(self, job: Job) -> str:
        if job.instance is not None:
            return link(job.instance)
        if job.volume is not None:
            return link(job.volume, f"volume {job.volume}")
        return f"{job.event.entity_label} ({job.event.entity_id}), gone" if job.event else NOTHING

    @admin.display(description="Account")
    def account(self, job: Job) -> SafeString:
        about = job.instance or job.volume or job.event
        return link(about.account) if about else NOTHING

    @admin.display(description="Host")
    def host(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> SafeString:
        return JobProgress(job).hosts()

    @admin.display(description="State")
    def progress(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> SafeString:
        return JobProgress(job).state()

    @admin.display(description="Step")
    def step_of(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> str:
        return JobProgress(job).step()

    @admin.display(description="Progress")
    def details(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> SafeString:
        return JobProgress(job).details()

    @admin.display(description="Plan")
    def plan(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> SafeString:
        return JobProgress(job).plan()

    @admin.display(description="Attempts")
    def attempts(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> str:
        return JobProgress(job).attempt()

    @admin.display(description="Lease")
    def lease(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> str:
        return JobProgress(job).lease()

    @admin.display(description="Timing")
    def timing(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> str:
        return JobProgress(job).timing()

    @admin.display(description="Deadline")
    def deadline(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> str:
        return JobProgress(job).deadline()

    @admin.display(description="Error")
    def error_text(self, job: "WithAnnotations[Job, job_status.ProgressColumns]") -> SafeString:
        return JobProgress(job).error() or NOTHING

    @admin.display(description="By")
    def by(self, job: Job) -> str:
        return job.created_by or "the platform"

    @admin.display(description="Event")
    def event_link(self, job: Job) -> SafeString:
        return link(job.event)

    @admin.display(description="Data of the steps")
    def pretty_data(self, job: Job) -> SafeString:
        return pretty(job.data)


@event_panel
def jobs_panel(event: Event) -> Panel:
    """The job that reports to the event, on the event's page. The list has the other jobs of the compute.

    A job that reports to several events, one after the other, is on the page of the last event.
    """
    rows = (
        with_progress(Job.objects.filter(event=event)).select_related("instance__host", "last_host").order_by("-pk")
    )
    found = ((job, JobProgress(job)) for job in rows)
    return Panel.of(
        "Job",
        ("Job", "State", "Progress", "Host"),
        ((link(job), progress.state(), progress.details(), progress.hosts()) for job, progress in found),
        more=list_of(Job, q=event.entity_id) if event.entity_type == "compute" else "",
        empty="No job, or its job reports to a later event now.",
    )


def job_buttons(site: admin.AdminSite, request: HttpRequest, back: str) -> Callable[[Job], SafeString]:
    """A function that renders a job's buttons on another object's page, whose address is `back`."""
    page: Any = site.get_model_admin(Job)

    def buttons(job: Job) -> SafeString:
        return format_html_join("", "{}", ((button.html(),) for button in page.buttons(request, job, back=back)))

    return buttons
