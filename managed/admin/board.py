"""The part of managed monitoring on the first page: the response times of services. Two queries."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import Avg, Count, DateTimeField, F, Func, Max, Q, QuerySet, Sum, Value
from django.http import HttpRequest
from django.utils.timezone import now

from config.admin.board.registry import Figure, Number, part
from config.admin.value_formats import list_of
from config.display.charts import Series, TimeSeriesChart
from config.display.plurals import counted
from config.display.quantities import milliseconds
from config.display.statuses import BAD, BUSY
from managed.admin.service_status import Status
from managed.models import Measurement, Service

HOURS, STEP = timedelta(hours=3), timedelta(minutes=5)
MAX_SERVICES = 200
"""The maximum number of services whose checks are read. Each reads a range of an index, of some hundred rows."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@part(50)
def probes(request: HttpRequest) -> Iterator[Number | Figure]:
    if not request.user.has_perm("managed.view_service"):
        return
    watched = Service.objects.exclude(status=Status.DISABLED)
    found = watched.aggregate(number=Count("pk"), down=Count("pk", filter=Q(status=Status.PROBLEM)))
    down = found["down"]
    yield Number(
        "services watched", f"{found['number']:,}", list_of(Service, now="problem") if down else list_of(Service),
        f"{down:,} down" if down else "none down", BAD if down else "",
    )  # fmt: skip
    yield latency(watched, found["number"])


def latency(watched: QuerySet[Service], number: int) -> TimeSeriesChart:
    end = _EPOCH + ((now() - _EPOCH) // STEP + 1) * STEP
    start, steps = end - HOURS, int(HOURS / STEP)
    binned = Func(Value(STEP), F("at"), Value(_EPOCH), function="date_bin", output_field=DateTimeField())
    chosen = watched.order_by("-pk").values("pk")[:MAX_SERVICES]
    rows = (
        Measurement.objects.filter(service__in=chosen, span=Measurement.Span.CHECK, at__gte=start, at__lt=end)
        .annotate(step=binned)
        .order_by()
        .values_list("step")
        .annotate(average=Avg("milliseconds"), slowest=Max("milliseconds"), n=Sum("checks"), bad=Sum("failed"))
    )
    average: list[float | None] = [None] * steps
    slowest: list[float | None] = [None] * steps
    checks = failed = 0
    for step, mean, most, n, bad in rows:
        at = int((step - start) / STEP)
        average[at], slowest[at] = mean, most
        checks, failed = checks + n, failed + bad
    highest = max((value for value in slowest if value is not None), default=None)
    description = f"{counted(checks, 'check')} in the last three hours, {failed:,} of them failed."
    if highest is not None:
        description += f" The slowest answer took {milliseconds(highest)}."
    return TimeSeriesChart.of(
        "probe-latency", "Answers of managed services", start, STEP,
        [Series("average", BUSY, average, additive=False)],
        lines=[Series("slowest", "line", slowest, additive=False)],
        unit="ms",
        description=f"{description} Times are UTC." if checks else "Nothing was checked in the last three hours.",
        more=list_of(Service),
        note=f"Only the newest {MAX_SERVICES} of {number:,} services are counted." if number > MAX_SERVICES else "",
    )  # fmt: skip
