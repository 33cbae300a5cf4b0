"""The parts of compute on the first page: instances, hosts' capacity, and jobs of the last hours.

Seven queries. The queries of hosts and of instances read each row once. The number of jobs only grows, and their
times have no index. So the queries of jobs read the newest `MAX_JOBS` rows by their key.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import (
    Aggregate,
    Count,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    Func,
    Max,
    QuerySet,
    TextField,
    Value,
)
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import Truncator

from accounts.models import Event
from compute.admin.hosts import FULL_HOST_SHARE, AnswersFilter, is_full, shares
from compute.admin.job_status import live, stuck
from compute.models import Host, Instance, Job
from config.admin.board.bars import BarTable, bar, meter
from config.admin.board.registry import Figure, Number, part
from config.admin.pages import Row
from config.admin.value_formats import link, list_of, page_of, span
from config.display.charts import Series, TimeSeriesChart
from config.display.plurals import counted
from config.display.statuses import BAD, BUSY, GOOD, QUIET, pill

MAX_JOBS = 10_000
"""The largest number of newest jobs that are read."""
HOURS, MINUTE, DAY = timedelta(hours=3), timedelta(minutes=1), timedelta(days=1)
HOSTS_SHOWN = 12
KINDS_SHOWN = REASONS_SHOWN = 10
REASON_LENGTH = 200
"""The length of an error, without numbers and ids, by which failures are grouped."""
MANY_GIGABYTES = 10_240
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

TRANSITIONAL_STATUSES = tuple(status for status in Instance.Status if status not in Instance.SETTLED)


class Percentile(Aggregate):
    """PostgreSQL's percentile of a duration. `fraction` is a constant of ours, never a value of a request."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"

    def __init__(self, expression: Any, fraction: float):
        super().__init__(expression, fraction=fraction, output_field=DurationField())


@part(10)
def instances(request: HttpRequest) -> Iterator[Number | Figure]:
    """Instances by region and status; one query."""
    if not request.user.has_perm("compute.view_instance"):
        return
    regions: dict[str, dict[str, int]] = defaultdict(dict)
    rows = Instance.objects.order_by().values_list("region_id", "status").annotate(number=Count("pk"))
    for region, status, number in rows:
        regions[region][status] = number
    totals = {region: sum(found.values()) for region, found in regions.items()}
    total = sum(totals.values())
    running = sum(found.get("running", 0) for found in regions.values())
    yield Number("instances", f"{total:,}", list_of(Instance), f"{running:,} running")
    yield BarTable(
        "Instances by region and status",
        ("Region", "Instances", "", "By status"),
        [
            Row((
                format_html('<a href="{}">{}</a>', list_of(Instance, region__id__exact=region), region),
                f"{totals[region]:,}",
                bar(_by_tone(found), max(totals.values())),
                ", ".join(f"{number:,} {status}" for status, number in sorted(found.items(), key=_most)),
            ))
            for region, found in sorted(regions.items(), key=lambda each: (-totals[each[0]], each[0]))
        ],
        legend=(("running", GOOD), ("changing", BUSY), ("off", QUIET)),
        more=list_of(Instance),
    )  # fmt: skip


def _most(entry: tuple[str, int]) -> tuple[int, str]:
    """Return a sort key that puts the largest number first."""
    return -entry[1], entry[0]


def _by_tone(found: dict[str, int]) -> list[tuple[str, float]]:
    running = found.get("running", 0)
    moving = sum(found.get(status, 0) for status in TRANSITIONAL_STATUSES)
    return [(GOOD, running), (BUSY, moving), (QUIET, sum(found.values()) - running - moving)]


@part(20)
def capacity(request: HttpRequest) -> Iterator[Number | Figure]:
    """The used capacity of the regions and of their fullest hosts; one query."""
    if not request.user.has_perm("compute.view_host"):
        return
    hosts = list(Host.objects.defer("images", "architectures", "host_key").order_by("label"))
    silent = sum(host.unreachable_since is not None for host in hosts)
    yield Number(
        "hosts",
        f"{len(hosts):,}",
        list_of(Host, **{AnswersFilter.parameter_name: "no"}) if silent else list_of(Host),
        f"{silent:,} do not answer" if silent else "all answer" if hosts else "",
        BAD if silent else "",
    )
    regions: dict[str, Host] = {}
    for host in hosts:
        whole = regions.setdefault(
            host.region_id, Host(memory=0, vcpus=0, disk=0, memory_used=0, vcpus_used=0, disk_used=0)
        )
        for name in ("memory", "vcpus", "disk"):
            for column in (name, f"{name}_used"):
                setattr(whole, column, getattr(whole, column) + getattr(host, column))
    headers = ("Memory", "Cores", "Disk")
    yield BarTable(
        "Capacity of regions",
        ("Region", *headers),
        [
            Row((
                format_html('<a href="{}">{}</a>', list_of(Host, region__id__exact=region), region),
                *_meters(whole),
            ))
            for region, whole in sorted(regions.items())
        ],
        more=list_of(Host),
    )  # fmt: skip
    fullest = sorted(hosts, key=lambda host: (not _troubled(host), -max(shares(host).values()), host.label))
    yield BarTable(
        "Capacity of hosts",
        ("Host", *headers),
        [
            Row((format_html("{} {}", link(host), _host_state(host)), *_meters(host)))
            for host in fullest[:HOSTS_SHOWN]
        ],
        more=list_of(Host),
        note=f"The fullest {HOSTS_SHOWN} of {len(hosts)}." if len(hosts) > HOSTS_SHOWN else "",
    )


def _troubled(host: Host) -> bool:
    return host.unreachable_since is not None or is_full(host)


def _host_state(host: Host) -> str:
    if host.unreachable_since is not None:
        return pill("does not answer", BAD)
    if host.maintenance:
        return pill("in maintenance", BUSY)
    return "" if host.enabled else pill("closed", QUIET)


def _meters(host: Host) -> Iterator[str]:
    for name, share in shares(host).items():
        used, whole = getattr(host, f"{name}_used"), getattr(host, name)
        text = f"{used:,} of {whole:,}" if name == "vcpus" else _of(used, whole)
        yield meter(used, whole, text, BAD if whole and share >= FULL_HOST_SHARE else BUSY)


def _of(used: int, whole: int) -> str:
    """Return ``12 of 64 GB`` from MB; in TB if the text would be too long in GB."""
    if whole >= MANY_GIGABYTES * 1024:
        return f"{used / 1024**2:,.1f} of {whole / 1024**2:,.0f} TB"
    return f"{used / 1024:,.0f} of {whole / 1024:,.0f} GB"


def newest() -> tuple[QuerySet[Job], datetime | None]:
    """Return the newest `MAX_JOBS` jobs, and the creation time of the oldest of these if there are older jobs. One
    query."""
    edge = Job.objects.order_by("-pk").values_list("pk", "created")[MAX_JOBS - 1 : MAX_JOBS].first()
    rows = Job.objects.order_by()
    return (rows.filter(pk__gte=edge[0]), edge[1]) if edge else (rows, None)


def note(edge: datetime | None, since: datetime) -> str:
    if edge is None or edge <= since:
        return ""
    return f"Only the newest {MAX_JOBS:,} jobs are counted, from {edge:%Y-%m-%d %H:%M} on."


@part(30)
def jobs(request: HttpRequest) -> Iterator[Number | Figure]:
    """Jobs at work, jobs that ended in the last hours, and the reasons why jobs of the last day failed; five
    queries."""
    if not request.user.has_perm("compute.view_job"):
        return
    alive = Job.objects.filter(live()).aggregate(number=Count("pk"), stuck=Count("pk", filter=stuck()))
    clock = datetime.now(UTC)
    found, edge = newest()
    yield Number(
        "jobs under way",
        f"{alive['number']:,}",
        list_of(Job, now="stuck" if alive["stuck"] else "live"),
        f"{alive['stuck']:,} stuck" if alive["stuck"] else "none stuck",
        BAD if alive["stuck"] else "",
    )
    yield by_minute(found, edge, clock)
    yield by_kind(found, edge, clock - HOURS)
    yield by_reason(found, edge, clock - DAY)


def failures(rows: QuerySet[Job]) -> QuerySet[Job]:
    """Return the jobs that failed, except jobs that staff cancelled or a deletion ended."""
    return rows.filter(state=Job.State.FAILED, cancelled=False).exclude(error=Event.SUPERSEDED)


def by_minute(rows: QuerySet[Job], edge: datetime | None, clock: datetime) -> TimeSeriesChart:
    end = clock.replace(second=0, microsecond=0) + MINUTE
    start, steps = end - HOURS, int(HOURS / MINUTE)
    minute = Func(Value(MINUTE), F("finished_at"), Value(_EPOCH), function="date_bin", output_field=DateTimeField())
    done, failed = [0.0] * steps, [0.0] * steps
    for at, state, number in (
        rows.filter(finished_at__gte=start, finished_at__lt=end)
        .annotate(minute=minute)
        .values_list("minute", "state")
        .annotate(number=Count("pk"))
    ):
        (failed if state == Job.State.FAILED else done)[int((at - start) / MINUTE)] += number
    ended, bad = int(sum(done) + sum(failed)), int(sum(failed))
    return TimeSeriesChart.of(
        "jobs-per-minute", "Jobs that ended, per minute", start, MINUTE,
        [Series("done", BUSY, done), Series("failed", BAD, failed)],
        description=f"{counted(ended, 'job')} ended in the last three hours, {bad:,} of them failed. Times are UTC."
        if ended else "No job ended in the last three hours.",
        more=list_of(Job), note=note(edge, start),
    )  # fmt: skip


def by_kind(rows: QuerySet[Job], edge: datetime | None, since: datetime) -> BarTable:
    """The time that jobs of each kind took since their creation, as customers experience it."""
    took = ExpressionWrapper(F("finished_at") - F("created"), output_field=DurationField())
    kinds = list(
        rows.filter(finished_at__gte=since, state=Job.State.DONE)
        .values("kind")
        .annotate(number=Count("pk"), half=Percentile(took, 0.5), most=Percentile(took, 0.95), longest=Max(took))
        .order_by("-most")[:KINDS_SHOWN]
    )
    whole = max((each["most"].total_seconds() for each in kinds), default=0)
    return BarTable(
        "Time of jobs by kind",
        ("Kind", "Jobs", "", "Half within", "19 of 20 within", "Longest"),
        [
            Row((
                format_html('<a href="{}">{}</a>', list_of(Job, kind__exact=each["kind"]), each["kind"]),
                f"{each['number']:,}",
                bar(_spans(each["half"], each["most"]), whole),
                span(each["half"]), span(each["most"]), span(each["longest"]),
            ))
            for each in kinds
        ],
        legend=(("half within", BUSY), ("19 of 20 within", QUIET)),
        more=list_of(Job, state__exact="done"),
        note=note(edge, since) or ("Done in the last three hours, the slowest kinds first." if kinds else ""),
        empty="No job was done in the last three hours.",
    )  # fmt: skip


def _spans(half: timedelta, most: timedelta) -> list[tuple[str, float]]:
    return [(BUSY, half.total_seconds()), (QUIET, (most - half).total_seconds())]


def by_reason(rows: QuerySet[Job], edge: datetime | None, since: datetime) -> BarTable:
    """Failed jobs by error, without the error's numbers and ids, which differ from instance to instance."""
    ids, there = Value(r"[0-9a-f-]*\d[0-9a-f.:-]*"), Value("…")
    replaced = Func(F("error"), ids, there, Value("gi"), function="regexp_replace", output_field=TextField())
    plain = Func(replaced, Value(REASON_LENGTH), function="left", output_field=TextField())
    reasons = list(
        failures(rows)
        .filter(finished_at__gte=since)
        .annotate(reason=plain)
        .values("reason")
        .annotate(number=Count("pk"), last=Max("pk"), kinds=ArrayAgg("kind", distinct=True))
        .order_by("-number", "reason")[:REASONS_SHOWN]
    )
    whole = max((each["number"] for each in reasons), default=0)
    description = "Failures of the last day. Each reason links to the last job with this error." if reasons else ""
    return BarTable(
        "Failed jobs by reason",
        ("Reason", "Kinds", "Jobs", ""),
        [
            Row((
                format_html(
                    '<a href="{}" title="The last job with this error">{}</a>',
                    page_of(Job(pk=each["last"])), Truncator(each["reason"] or "no error").chars(120),
                ),
                ", ".join(each["kinds"]), f"{each['number']:,}", bar([(BAD, each["number"])], whole),
            ))
            for each in reasons
        ],
        more=list_of(Job, state__exact="failed"),
        note=note(edge, since) or description,
        empty="No job failed in the last day.",
    )  # fmt: skip
