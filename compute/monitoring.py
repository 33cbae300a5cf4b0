"""Metrics and checks of compute: processes, hosts, jobs, instances and address pools."""

from collections.abc import Iterator

from django.db.models import Case, Count, Max, Min, OuterRef, Q, When
from django.db.models.functions import Now
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from compute.jobs import metrics  # noqa: F401 - web processes export the counters of workers
from compute.jobs.definition import KINDS
from compute.models import AddressPool, Drift, Heartbeat, Host, Instance, Job
from compute.services import missing_processes
from compute.services.heartbeats import alive
from compute.services.hosts.unreachable_hosts import count_jobs_needing
from config.monitoring.registry import Trouble, measures, trouble_check
from config.processes import queues
from config.version import VERSION

RESOURCES = {"memory": 1024**2, "vcpus": 1, "disk": 1024**2}
"""The resources of a host, and the size of one unit in bytes or cores."""
UNFINISHED = (Job.State.QUEUED, *Job.LIVE)


@trouble_check
def processes() -> Iterator[Trouble]:
    for each in missing_processes.missing():
        yield Trouble(each.component, each.text)


@measures
def releases() -> Iterator[Metric]:
    yield InfoMetricFamily("skerry_release", "The release of the process that answers.", {"version": VERSION})


@measures
def heartbeats() -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "skerry_processes", "Processes with a heartbeat in the last 30 seconds.", labels=["kind", "version"]
    )
    found = Heartbeat.objects.filter(alive()).order_by().values_list("kind", "version")
    present = {(kind, version): number for kind, version, number in found.annotate(number=Count("pk"))}
    # a kind without any process is reported as 0: an absent series raises no alert
    for kind in Heartbeat.Kind.values:
        if not any(known == kind for known, _ in present):
            present[kind, ""] = 0
    for labels, number in sorted(present.items()):
        family.add_metric([*labels], number)
    yield family


@measures
def broker_queues() -> Iterator[Metric]:
    """Yield the queues of the broker; nothing if the broker does not answer, which `skerry_redis_up` shows."""
    waiting = GaugeMetricFamily("skerry_queue_messages", "Messages that wait for a worker.", labels=["queue"])
    oldest = GaugeMetricFamily(
        "skerry_queue_oldest_seconds", "The time that the oldest message has waited.", labels=["queue"]
    )
    for name, found in (queues.backlogs() or {}).items():
        waiting.add_metric([name], found.messages)
        oldest.add_metric([name], found.oldest)
    yield from (waiting, oldest)


@measures
def hosts() -> Iterator[Metric]:
    labels = ["host", "region"]
    families = {
        "up": GaugeMetricFamily("skerry_host_up", "1 if the host answers its driver, else 0.", labels=labels),
        "silent": GaugeMetricFamily(
            "skerry_host_silent_seconds", "The time since a host stopped answering, 0 if it answers.", labels=labels
        ),
        "enabled": GaugeMetricFamily(
            "skerry_host_enabled",
            "1 if the host is enabled and not in maintenance, else 0.",
            labels=labels,
        ),
        "maintenance": GaugeMetricFamily(
            "skerry_host_maintenance", "1 if the host is in maintenance and may not answer, else 0.", labels=labels
        ),
        "waiting": GaugeMetricFamily(
            "skerry_host_jobs_waiting", "Jobs that wait for a host that does not answer.", labels=labels
        ),
        "capacity": GaugeMetricFamily(
            "skerry_host_capacity",
            "The capacity of a host for instances: bytes, or cores.",
            labels=[*labels, "resource"],
        ),
        "used": GaugeMetricFamily(
            "skerry_host_used", "The capacity that instances use: bytes, or cores.", labels=[*labels, "resource"]
        ),
    }
    # the jobs of hosts that answer are not looked up
    waiting = Case(
        When(unreachable_since__isnull=False, then=count_jobs_needing(OuterRef("pk"))), default=0
    )  # fmt: skip
    for host in Host.objects.annotate(clock=Now(), waiting=waiting).order_by("label"):
        key = [host.label, host.region_id]
        silent = (host.clock - host.unreachable_since).total_seconds() if host.unreachable_since else 0.0
        families["up"].add_metric(key, float(host.unreachable_since is None))
        families["silent"].add_metric(key, silent)
        families["enabled"].add_metric(key, float(host.enabled and host.maintenance is None))
        families["maintenance"].add_metric(key, float(host.maintenance is not None))
        families["waiting"].add_metric(key, host.waiting)
        for resource, unit in RESOURCES.items():
            families["capacity"].add_metric([*key, resource], getattr(host, resource) * unit)
            families["used"].add_metric([*key, resource], getattr(host, f"{resource}_used") * unit)
    yield from families.values()


@measures
def jobs() -> Iterator[Metric]:
    """Yield live jobs by kind, and the age of the oldest job of each kind since its creation and since it was
    due."""
    live = GaugeMetricFamily("skerry_jobs", "Jobs that have not ended.", labels=["kind", "state"])
    oldest = GaugeMetricFamily(
        "skerry_job_oldest_seconds", "The age of the oldest job that has not ended.", labels=["kind"]
    )
    failing = GaugeMetricFamily("skerry_jobs_failing", "Jobs whose last attempt failed.", labels=["kind"])
    late = GaugeMetricFamily(
        "skerry_job_late_seconds",
        "The longest time that a due job has waited for a worker: the lag of the sweep.",
        labels=["kind"],
    )
    unclaimed = Q(state__in=Job.LIVE, run_at__lte=Now()) & (Q(lease_until=None) | Q(lease_until__lt=Now()))
    # Every kind has a series, with 0 if no job is live: an alert can compare it, and a rate has a start.
    numbers: dict[tuple[str, str], int] = {(kind, state): 0 for kind in KINDS for state in UNFINISHED}
    errors, ages, waits = (dict.fromkeys(KINDS, 0.0) for _ in range(3))
    rows = Job.objects.filter(finished_at=None).order_by().values("kind", "state").annotate(
        number=Count("pk"),
        errors=Count("pk", filter=~Q(error="")),
        clock=Max(Now()),
        first=Min("created"),
        due=Min("run_at", filter=unclaimed),
    )  # fmt: skip
    for row in rows:
        kind = row["kind"]
        numbers[kind, row["state"]] = row["number"]
        errors[kind] = errors.get(kind, 0.0) + row["errors"]  # of several states
        ages[kind] = max(ages.get(kind, 0.0), (row["clock"] - row["first"]).total_seconds())
        if row["due"]:
            waits[kind] = max(waits.get(kind, 0.0), (row["clock"] - row["due"]).total_seconds())
    for (kind, state), number in numbers.items():
        live.add_metric([kind, state], number)
    for family, values in ((failing, errors), (oldest, ages), (late, waits)):
        for kind, value in values.items():
            family.add_metric([kind], value)
    yield from (live, oldest, failing, late)


@measures
def instances() -> Iterator[Metric]:
    family = GaugeMetricFamily("skerry_instances", "Instances.", labels=["region", "status"])
    rows = Instance.objects.order_by().values_list("region_id", "status").annotate(number=Count("pk"))
    for region, status, number in rows:
        family.add_metric([region, status], number)
    yield family


@measures
def address_pools() -> Iterator[Metric]:
    labels = ["network", "region", "kind"]
    total = GaugeMetricFamily("skerry_pool_addresses", "Addresses of a pool.", labels=labels)
    free = GaugeMetricFamily("skerry_pool_addresses_free", "Unassigned addresses of a pool.", labels=labels)
    nobody = Q(addresses__instance__isnull=True, addresses__nodebalancer__isnull=True)
    pools = AddressPool.objects.annotate(
        total=Count("addresses"), free=Count("addresses", filter=nobody)
    ).filter(total__gt=0)  # fmt: skip
    for pool in pools.order_by("pk"):
        key = [str(pool.network), pool.region_id, pool.kind]
        total.add_metric(key, pool.total)
        free.add_metric(key, pool.free)
    yield from (total, free)


@measures
def drift() -> Iterator[Metric]:
    waiting = Drift.objects.filter(resolved_at=None, seen__gte=Drift.CONFIRMED)
    number = waiting.exclude(kind=Drift.Kind.SET_ASIDE).count()
    yield GaugeMetricFamily("skerry_drift", "Differences between hosts and rows that wait for staff.", value=number)
