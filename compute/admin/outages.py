"""The first lines under Needs attention: hosts that do not answer, and missing workers and clocks."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest

from compute.admin.hosts import AnswersFilter
from compute.models import Heartbeat, Host, Job
from compute.services import missing_processes
from compute.services.hosts.unreachable_hosts import jobs_waiting, unreachable_hosts
from compute.services.missing_processes import moment_of
from config.admin.attention import Notice, watcher
from config.admin.value_formats import list_of, page_of, span
from config.display.statuses import QUIET

HOST, PROCESS = 2, 1
"""The urgency of notices on hosts and on processes; other notices have 0."""
MAX_HOSTS = 10
"""The largest number of hosts with a line of their own. One more line counts the others."""


@watcher
def silent_hosts(request: HttpRequest) -> Iterator[Notice]:
    """One line for each host that does not answer, unless it is disabled and nothing is on it; one query."""
    if not request.user.has_perm("compute.view_host"):
        return
    hosts = sorted(unreachable_hosts(), key=lambda host: host.maintenance is not None)
    may_see_jobs = request.user.has_perm("compute.view_job")
    for host in hosts[:MAX_HOSTS]:
        yield _silent_host(host, may_see_jobs)
    if len(hosts) > MAX_HOSTS:
        text = f"More hosts that do not answer: {len(hosts) - MAX_HOSTS}"
        yield Notice(text, list_of(Host, **{AnswersFilter.parameter_name: "no"}), urgent=HOST)


def _silent_host(host: Any, may_see_jobs: bool) -> Notice:
    """The notice of one host, from a row with the database's `clock` and the number of `waiting` jobs."""
    silence = f"for {span(host.clock - host.unreachable_since)} (since {moment_of(host.unreachable_since)})"
    maintained = host.maintenance is not None
    name = f"Host {host}{', in maintenance,' if maintained else ''}"
    text = f"{name} has not answered {silence}: {jobs_waiting(host.waiting)}"
    leads = list_of(Job, host=host.pk, now="live") if may_see_jobs and host.waiting else page_of(host)
    return Notice(text, leads, tone=QUIET if maintained else "bad", urgent=HOST)


@watcher
def processes(request: HttpRequest) -> Iterator[Notice]:
    """Whether workers and the clock run, by their heartbeats; one query."""
    if request.user.has_perm("compute.view_heartbeat"):
        for each in missing_processes.missing():
            yield Notice(each.text, list_of(Heartbeat), urgent=PROCESS)
