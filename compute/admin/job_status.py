"""The progress of jobs by the database's clock, which leases and timers use too."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Greatest, Now
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import Event
from compute.jobs.data import UnreadableData
from compute.jobs.definition import KINDS
from compute.models import Host, Job
from config.admin.value_formats import NOTHING, lines, link, span
from config.display.statuses import BAD, BUSY, GOOD, QUIET, pill

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

LEASED = "leased"
OVERDUE = "overdue"
RETRYING = "retrying"
WAITING = "waiting"
DUE = "due"

TONES = {
    LEASED: BUSY, OVERDUE: BAD, RETRYING: BAD, WAITING: QUIET, DUE: QUIET,
    Job.State.QUEUED: QUIET, Job.State.DONE: GOOD, Job.State.FAILED: BAD,
}  # fmt: skip
UNDO = "undo "
"""The prefix of an undo's key in ``Job.step_seconds``; the step's name follows."""
WORDS = {LEASED: "running", DUE: "due now"}
OVERDUE_NOTIFICATIONS = 8
"""Notifications that a due job may miss before it counts as overdue."""


def live() -> Q:
    return Q(state__in=Job.LIVE)


def leased() -> Q:
    """Jobs whose lease a worker holds."""
    return live() & Q(lease_until__gte=Now())


def overdue() -> Q:
    """Jobs that have been due for long and were not claimed. Workers or broker are down, or all workers are
    busy."""
    late = Now() - Value(timedelta(seconds=OVERDUE_NOTIFICATIONS * settings.JOB_NOTIFY_PATIENCE))
    return live() & Q(run_at__lt=late) & (Q(lease_until=None) | Q(lease_until__lt=late))


def retrying() -> Q:
    """Jobs whose last attempt at the step failed, or whose worker died in it. They may be at work again right
    now."""
    return live() & (~Q(error="") | Q(attempt__gt=1))


def waiting() -> Q:
    """Jobs whose step is under way on the host, and runs again at `run_at`."""
    return live() & Q(lease_until=None, run_at__gt=Now()) & ~retrying()


def stuck() -> Q:
    """Jobs that need the attention of staff."""
    return overdue() | retrying() | (live() & Q(deadline_at__lt=Now()))


class ProgressColumns(TypedDict):
    clock: datetime
    origin: str | None
    target: str | None
    due: datetime
    stuck: bool
    progress: str


def with_progress(jobs: QuerySet[Job]) -> "QuerySet[WithAnnotations[Job, ProgressColumns]]":
    """Add `progress`, whether the job is `stuck`, its time `due`, the database's `clock`, and labels of two hosts.

    The hosts are those in the job's data: `target`, where it works or where a move goes, and `origin`, where the
    move begins. The column of secrets is not read.
    """
    return jobs.defer("encrypted").annotate(
        clock=Now(),
        origin=_host_in_data("previous_host"),
        target=_host_in_data("host"),
        due=Greatest("run_at", Coalesce("lease_until", "run_at")),
        stuck=Case(When(stuck(), then=True), default=False),
        progress=Case(
            When(~live(), then=F("state")),
            When(leased(), then=Value(LEASED)),
            When(overdue(), then=Value(OVERDUE)),
            When(retrying(), then=Value(RETRYING)),
            When(waiting(), then=Value(WAITING)),
            default=Value(DUE),
        ),
    )


def _host_in_data(key: str) -> Subquery:
    """The label of the host whose id a job's data has under `key`."""
    hosts = Host.objects.alias(key=Cast("pk", TextField()))
    return Subquery(hosts.filter(key=KeyTextTransform(key, OuterRef("data"))).values("label")[:1])


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job in words, from a row of `with_progress`."""

    job: "WithAnnotations[Job, ProgressColumns]"

    @property
    def stuck(self) -> bool:
        return self.job.stuck

    @property
    def live(self) -> bool:
        return self.job.state in Job.LIVE

    @property
    def superseded(self) -> bool:
        """Tell whether the job ended because its instance is being deleted, which is no failure to investigate."""
        return self.job.state == Job.State.FAILED and self.job.error == Event.SUPERSEDED

    def state(self) -> SafeString:
        """Pills: whether the job is stuck, its progress, and whether it is undoing or was cancelled."""
        if self.superseded:
            return pill("superseded", QUIET)
        progress = self.job.progress
        pills = [pill("stuck", BAD)] if self.stuck else []
        pills.append(pill(WORDS.get(progress, progress), TONES.get(progress, QUIET)))
        if self.job.state == Job.State.UNDOING:
            pills.append(pill("undoing", BAD))
        if self.job.cancelled:
            pills.append(pill("cancelled"))
        return format_html_join(" ", "{}", ((each,) for each in pills))

    def step(self) -> str:
        """The job's position in its plan: ``2/3 disks``."""
        steps = self.steps()
        if self.job.step not in steps:
            return self.job.step
        return f"{steps.index(self.job.step) + 1}/{len(steps)} {self.job.step}"

    @property
    def present(self) -> str:
        """The present step of a live job, ``undo …`` while the job undoes it; empty for a job that is not live."""
        if not self.live:
            return ""
        return UNDO + self.job.step if self.job.state == Job.State.UNDOING else self.job.step

    def steps(self) -> list[str]:
        """The names of the plan's steps; none for a kind that this release does not know, or unreadable data."""
        kind = KINDS.get(self.job.kind)
        try:
            return [step.name for step in kind.plan(kind.read(self.job.data))] if kind else []
        except UnreadableData:
            return []  # another release wrote it; the engine says so in the job's error

    def plan(self) -> SafeString:
        """All steps in order, coloured by the outcome of each."""
        steps = self.steps()
        at = steps.index(self.job.step) if self.job.step in steps else -1
        here = {"done": "good", "failed": "bad", "undoing": "bad"}.get(self.job.state, "busy")
        here = "quiet" if self.superseded else here
        tones = ["good" if n < at or self.job.state == "done" else here if n == at else "quiet"
                 for n in range(len(steps))]  # fmt: skip
        marks = {"good": "✓ ", "bad": "✗ ", "busy": "▸ ", "quiet": ""}
        pills = ((pill(f"{marks[tone]}{name}", tone),) for name, tone in zip(steps, tones, strict=True))
        return format_html('<ul class="steps">{}</ul>', format_html_join("", "<li>{}</li>", pills))

    def attempt(self) -> str:
        """The attempts at the current step since the last progress, and the limit that applies to them.

        An undo has no limit. A job that was given up past the point of no return has no limit either: it waits for
        the driver to report the power of the machine.
        """
        if not self.live:
            return "–"
        number, limit = self.job.attempt, settings.JOB_ATTEMPTS
        if self.job.state == Job.State.UNDOING:
            return f"undoing, attempt {number}" if number else "undoing"
        if number == limit:
            return f"last attempt ({number} of {limit})"
        return f"too many failures, ending: attempt {number}" if number > limit else f"attempt {number} of {limit}"

    def hosts(self) -> SafeString:
        """The host that the job worked on, or both hosts of a move. A job without a host in its data shows its
        instance's."""
        named = [("previous_host", self.job.origin), ("host", self.job.target)]
        found = {self.job.data[key]: label for key, label in named if label}
        if found:
            links = ((link(Host(pk=pk), label),) for pk, label in found.items())
            return format_html_join(" → ", "{}", links)
        host = self.job.instance_host
        return NOTHING if host is None else link(host)

    def move(self) -> str:
        """The host that a live job moves its instance to; empty if the instance stays on its host."""
        target = self.job.target
        return target if self.live and target and self.job.data["host"] != self._host_id else ""

    def lease(self) -> str:
        if not self.live:
            return "–"
        if self.job.lease_until is None:
            return "free"
        if self.job.lease_until >= self._clock:
            return f"until {self.job.lease_until:%H:%M:%S} ({span(self.job.lease_until - self._clock)} left)"
        return f"expired {span(self._clock - self.job.lease_until)} ago"

    def timing(self) -> str:
        """When the job runs next, or how long it took."""
        if self.job.finished_at is not None:
            return f"took {span(self.job.finished_at - self.job.created)}"
        if self.job.state == Job.State.QUEUED:
            return f"queued for {span(self._clock - self.job.created)}, behind the live job"
        if self.job.lease_until is not None and self.job.lease_until >= self._clock:
            return f"running, {span(self._clock - self.job.created)} old"
        if self.job.waits_for_id is not None:
            host = Host.objects.filter(pk=self.job.waits_for_id).first() or "its host"  # which may be removed
            return f"waits until {host} answers, {span(self._clock - self.job.created)} old"
        due = self.job.due
        if due <= self._clock:
            return f"due since {span(self._clock - due)}"
        return f"runs in {span(due - self._clock)}"

    def deadline(self) -> str:
        if not self.live:
            return "–"
        left = self.job.deadline_at - self._clock
        return f"in {span(left)}" if left > timedelta(0) else f"passed {span(-left)} ago: the job will fail"

    def error(self) -> SafeString:
        if self.superseded:
            return format_html('<span class="quiet">{}</span>', self.job.error)
        return lines(format_html('<span class="problem">{}</span>', each) for each in self._errors())

    def _errors(self) -> Iterator[str]:
        """Yield the error of the last attempt. While the job is undone, also yield the error that it is undone for.

        The column contains the latter again only at the end.
        """
        if self.job.error:
            yield self.job.error
        data = self.job.data if isinstance(self.job.data, dict) else {}  # another release may have written it
        reason = data.get("undo_reason", "")
        if self.job.state == Job.State.UNDOING and reason and reason != self.job.error:
            yield f"Undone because: {reason}"

    def details(self) -> SafeString:
        """Everything about a job in one cell of the timeline."""
        facts = [self.step()]
        if self.live and self.job.attempt:
            facts.append(self.attempt())
        if self.live:
            facts.append(f"lease {self.lease()}")
        if self.move():
            facts.append(f"to host {self.move()}")
        return lines([" · ".join([*facts, self.timing()]), self.error()])

    @property
    def _host_id(self) -> int | None:
        return self.job.instance.host_id if self.job.instance is not None else None

    @property
    def _clock(self) -> datetime:
        return self.job.clock
