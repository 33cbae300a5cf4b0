"""The first lines under Needs attention: hosts that do not answer, and workers and clocks that do not run."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.timezone import now
from redis import Redis
from redis.exceptions import RedisError

from compute.admin.hosts import Answers
from compute.admin.job_status import counted, needing
from compute.models import Heartbeat, Host, Job, Reservation
from compute.services.heartbeats import SILENCE, alive
from config.admin.attention import Notice, watcher
from config.admin.display import QUIET, list_of, page_of, span

HOST, PROCESS = 2, 1
"""The urgency of notices on hosts and on processes; other notices have 0."""
MOST_HOSTS = 10
"""How many hosts have a line of their own; one more line counts the rest."""
BROKER_SECONDS = 0.5
"""How long the broker has to answer, in seconds. It is asked only where no worker has a fresh heartbeat."""

_started = time.monotonic()


@watcher
def silent_hosts(request: HttpRequest) -> Iterator[Notice]:
    """One line for each host that does not answer, unless it is disabled and nothing is on it; one query."""
    if not request.user.has_perm("compute.view_host"):
        return
    used = Q(enabled=True) | Exists(Reservation.objects.filter(host=OuterRef("pk")))
    rows = (
        Host.objects.filter(used, unreachable_since__isnull=False)
        .annotate(clock=Now(), waiting=Subquery(counted(needing(OuterRef("pk")))))
        .order_by("unreachable_since", "label")
    )
    hosts = sorted(rows, key=lambda host: host.maintenance is not None)
    may_see_jobs = request.user.has_perm("compute.view_job")
    for host in hosts[:MOST_HOSTS]:
        yield _silent_host(host, may_see_jobs)
    if len(hosts) > MOST_HOSTS:
        text = f"More hosts that do not answer: {len(hosts) - MOST_HOSTS}"
        yield Notice(text, list_of(Host, **{Answers.parameter_name: "no"}), urgent=HOST)


def _silent_host(host: Any, may_see_jobs: bool) -> Notice:
    """The notice of one host, from a row with the database's `clock` and the number of `waiting` jobs."""
    silence = f"for {span(host.clock - host.unreachable_since)} (since {moment_of(host.unreachable_since)})"
    jobs = "1 job waits" if host.waiting == 1 else f"{host.waiting or 'no'} jobs wait"
    maintained = host.maintenance is not None
    text = f"Host {host}{', in maintenance,' if maintained else ''} has not answered {silence}: {jobs}"
    leads = list_of(Job, host=host.pk, now="live") if may_see_jobs and host.waiting else page_of(host)
    return Notice(text, leads, tone=QUIET if maintained else "bad", urgent=HOST)


@watcher
def processes(request: HttpRequest) -> Iterator[Notice]:
    """Whether workers and the clock run, by their heartbeats; one query."""
    if not request.user.has_perm("compute.view_heartbeat") or starting():
        return
    worker, clock = Q(kind=Heartbeat.Kind.WORKER), Q(kind=Heartbeat.Kind.CLOCK)
    found = Heartbeat.objects.aggregate(
        workers=Count("pk", filter=worker & alive()),
        for_jobs=Count("pk", filter=worker & alive() & Q(queues__contains=["celery"])),
        for_timers=Count("pk", filter=worker & alive() & Q(queues__contains=["clock"])),
        worker_seen=Max("seen", filter=worker),
        clocks=Count("pk", filter=clock & alive()),
        clock_seen=Max("seen", filter=clock),
    )
    leads = list_of(Heartbeat)
    if not found["workers"] and not broker_answers():
        text = f"The broker (Redis) does not answer: jobs wait ({last(found['worker_seen'], 'worker')})"
        yield Notice(text, leads, urgent=PROCESS)
    elif not found["workers"]:
        yield Notice(f"No worker runs: jobs wait ({last(found['worker_seen'])})", leads, urgent=PROCESS)
    elif not found["for_jobs"]:
        yield Notice("No worker takes jobs: those that run have other queues", leads, urgent=PROCESS)
    elif not found["for_timers"]:
        yield Notice("No worker has the queue of the clock: what it begins waits", leads, urgent=PROCESS)
    if not found["clocks"]:
        text = f"No clock runs: nothing is tried again or begins by itself ({last(found['clock_seen'])})"
        yield Notice(text, leads, urgent=PROCESS)


def starting() -> bool:
    """Whether this process has just started, perhaps with all others, whose first heartbeats are yet to come."""
    return time.monotonic() - _started < SILENCE.total_seconds()


def broker_answers() -> bool:
    try:
        with Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=BROKER_SECONDS, socket_timeout=BROKER_SECONDS
        ) as broker:
            return bool(broker.ping())
    except (RedisError, OSError):
        return False


def last(seen: datetime | None, subject: str = "") -> str:
    """When the last process was seen, in words; `subject` names its kind."""
    name = f"last {subject} seen" if subject else "last seen"
    return f"{name} {moment_of(seen)}" if seen else f"no {subject or 'one'} was ever seen".replace("no one", "none")


def moment_of(time: datetime) -> str:
    """A moment in UTC, with its day where that is not today: ``14:02 UTC``, ``2030-01-31 14:02 UTC``."""
    today = time.date() == now().date()
    return f"{time:%H:%M} UTC" if today else f"{time:%Y-%m-%d %H:%M} UTC"
