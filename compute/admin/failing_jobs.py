"""Failing jobs by host and error: a host that is down takes one line with one verb, not two hundred jobs."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.timezone import now

from accounts.models import Event
from compute.admin.job_status import stuck, with_progress
from compute.admin.usual_times import slow, usual_times
from compute.models import Host, Job
from config.admin.site import own_page
from config.admin.value_formats import list_of, page_of
from config.admin.verbs import MAX_SELECTED, VerbsMixin

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    from compute.admin.job_status import ProgressColumns

MAX_GROUPED_JOBS = 2_000
"""The largest number of jobs that are grouped, the oldest first. It bounds the cost of the page."""
MAX_RECENT_JOBS = 20_000
"""The number of newest jobs that are searched for recent failures."""
RECENT_TIME = timedelta(days=1)
VERBS = ("run_now", "cancel")
NO_HOST = "no host"

# in this order: an address has numbers in it, and an id may look like one
_FOLDED = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?\b"), "<address>"),
    (re.compile(r"(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])", re.IGNORECASE), "<address>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
)


def folded(error: str) -> str:
    """Return an error without the parts that differ from job to job: ids, addresses and numbers."""
    for pattern, sign in _FOLDED:
        error = pattern.sub(sign, error)
    return " ".join(error.split())


@dataclass(slots=True)
class Group:
    """Jobs with the same host and error, the oldest first. `error` is the unchanged error of the newest job."""

    host: Host | None
    folded: str
    jobs: list[Job] = field(default_factory=list)

    @property
    def number(self) -> int:
        return len(self.jobs)

    @property
    def host_address(self) -> str:
        return "" if self.host is None else page_of(self.host)

    @property
    def error(self) -> str:
        return self.jobs[-1].error

    @property
    def oldest(self) -> datetime:
        return self.jobs[0].created

    @property
    def kinds(self) -> str:
        counted = Counter(job.kind for job in self.jobs)
        return ", ".join(f"{kind} ({number})" for kind, number in counted.most_common())

    @property
    def first(self) -> list[tuple[str, str]]:
        """The oldest jobs, each with the address of its page."""
        return [(str(job), page_of(job)) for job in self.jobs[:5]]

    @property
    def selected(self) -> list[int]:
        """The ids that one use of a verb applies to."""
        return [job.pk for job in self.jobs[:MAX_SELECTED]]


def groups_of(jobs: "Iterable[WithAnnotations[Job, ProgressColumns]]") -> list[Group]:
    """Return the jobs by host and error, the largest group first. Jobs without an error are grouped by their
    progress."""
    found: dict[tuple[int | None, str], Group] = {}
    for job in jobs:
        host = job.instance_host
        error = folded(job.error) or f"no error: {job.progress}"
        group = found.setdefault((None if host is None else host.pk, error), Group(host, error))
        group.jobs.append(job)
    return sorted(found.values(), key=lambda group: (-group.number, group.oldest))


def _read(condition: Q) -> "QuerySet[WithAnnotations[Job, ProgressColumns]]":
    rows = with_progress(Job.objects.filter(condition)).select_related("instance__host", "last_host")
    return rows.order_by("pk")[:MAX_GROUPED_JOBS]


def live_groups() -> list[Group]:
    """Live jobs that are stuck or much slower than usual; two queries."""
    return groups_of(_read(stuck() | slow(usual_times())))


def ended_groups() -> list[Group]:
    """Return jobs that failed lately, except jobs that a deletion superseded; one query."""
    newest = Job.objects.order_by("-pk").values("pk")[:MAX_RECENT_JOBS]
    failed = Q(state=Job.State.FAILED, finished_at__gt=now() - RECENT_TIME, pk__in=newest) & ~Q(
        error=Event.SUPERSEDED
    )
    return groups_of(_read(failed))


@own_page("failing", "compute/failing/")
def failing(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("compute.view_job"):
        raise PermissionDenied
    page = admin.site.get_model_admin(Job)
    verbs = [verb for verb in page.verbs if verb.name in VERBS and page.may(request, verb)] if (
        isinstance(page, VerbsMixin)
    ) else []  # fmt: skip
    context = {
        **admin.site.each_context(request),
        "title": "Failing jobs",
        "opts": Job._meta,
        "live": live_groups(),
        "ended": ended_groups(),
        "verbs": verbs,
        "jobs_address": list_of(Job),
        "most": MAX_GROUPED_JOBS,
        "at_a_time": MAX_SELECTED,
    }
    return TemplateResponse(request, "admin/failing.html", context)
