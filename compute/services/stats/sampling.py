"""Samples of instances' usage: made from the hypervisors' counters every five minutes, and thinned out later."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from compute.models import Instance, Meter, Sample, Transfer
from compute.services.common.months import month_of

SPAN = int(Sample.Span.FIVE_MINUTES)
SAMPLE_RETENTION = {
    Sample.Span.FIVE_MINUTES: timedelta(hours=48),
    Sample.Span.HOUR: timedelta(days=100),
    Sample.Span.DAY: timedelta(days=3 * 366),
}
"""The time for which samples of each span are kept."""
NETWORKS = (
    "v4_in", "v4_out", "v4_private_in", "v4_private_out", "v6_in", "v6_out", "v6_private_in", "v6_private_out",
)  # fmt: skip
COUNTERS = ("cpu", "io", "swap", *NETWORKS)
"""A hypervisor's counters for each machine. The rates of a sample have the same names."""
Counters = Mapping[str, float]
BITS = 8


@transaction.atomic
def record(readings: Mapping[int, Counters], at: datetime) -> int:
    """Write a sample for each instance, by its id, from the counters of its machine at `at`; returns how many.

    `cpu` is in seconds of one core, `io` and `swap` in blocks, the others in bytes.

    The first reading of an instance only starts its meter, and counts its transfer. A second reading within the
    same five minutes writes nothing: the next one includes its growth.
    """
    bucket = int(at.timestamp()) // SPAN
    ids = Instance.objects.filter(pk__in=readings).order_by("pk").select_for_update(no_key=True)
    instances = {instance.pk: instance for instance in ids.only("pk", "account_id")}
    meters = Meter.objects.in_bulk(list(instances))
    read = [pk for pk in instances if pk not in meters or meters[pk].bucket < bucket]
    grown = {pk: _growth(meters.get(pk), readings[pk]) for pk in read}
    samples = [
        _sample(pk, bucket, grown[pk], (at - meters[pk].at).total_seconds())
        for pk in read
        if pk in meters and at > meters[pk].at
    ]
    Sample.objects.bulk_create(samples, ignore_conflicts=True)
    _count_transfer({pk: (instances[pk].account_id, grown[pk]) for pk in read}, at)
    Meter.objects.bulk_create(
        [Meter(instance_id=pk, bucket=bucket, at=at, counters=dict(readings[pk])) for pk in read],
        update_conflicts=True,
        unique_fields=["instance"],
        update_fields=["bucket", "at", "counters"],
    )
    return len(samples)


def _growth(meter: Meter | None, now: Counters) -> Counters:
    """Return the growth of each counter. A counter that is lower than before began again at 0."""
    before: dict[str, float] = meter.counters if meter else {}
    return {
        name: now[name] - before.get(name, 0) if now[name] >= before.get(name, 0) else now[name] for name in now
    }


def _sample(pk: int, bucket: int, grown: Counters, seconds: float) -> Sample:
    rates = {name: grown[name] * BITS / seconds for name in NETWORKS}
    return Sample(
        instance_id=pk,
        at=datetime.fromtimestamp(bucket * SPAN, UTC),
        cpu=grown["cpu"] * 100 / seconds,
        io=grown["io"] / seconds,
        swap=grown["swap"] / seconds,
        **rates,
    )


def _count_transfer(grown: Mapping[int, tuple[int, Counters]], at: datetime) -> None:
    """Add the growth of the public network's counters to the rows of the month."""
    month = month_of(at)
    Transfer.objects.bulk_create(
        [Transfer(account_id=account, instance_id=pk, month=month) for pk, (account, _) in grown.items()],
        ignore_conflicts=True,
    )
    rows = {row.instance_id: row for row in Transfer.objects.filter(instance__in=list(grown), month=month)}
    for pk, (_, counters) in grown.items():
        rows[pk].sent = F("sent") + int(counters["v4_out"] + counters["v6_out"])
        rows[pk].received = F("received") + int(counters["v4_in"] + counters["v6_in"])
    Transfer.objects.bulk_update(rows.values(), ["sent", "received"], batch_size=500)


_THIN = """
INSERT INTO compute_sample (instance_id, span, at, {columns})
SELECT instance_id, %(wide)s, to_timestamp(floor(extract(epoch FROM at) / %(wide)s) * %(wide)s), {averages}
  FROM compute_sample
 WHERE span = %(narrow)s AND at >= %(since)s AND at < %(until)s
 GROUP BY instance_id, 3
ON CONFLICT (instance_id, span, at) DO NOTHING
"""


def thin(at: datetime) -> None:
    """Average samples into one sample for each hour and day that is over at `at`, and delete samples that are too
    old.

    It may run at any time and any number of times: an hour or a day that has its sample keeps it.
    """
    # samples of the last minutes of an hour may be written a little later
    settled = at - timedelta(minutes=10)
    hour = settled.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    _average(Sample.Span.FIVE_MINUTES, Sample.Span.HOUR, hour - timedelta(hours=30), hour)
    day = hour.replace(hour=0)
    _average(Sample.Span.HOUR, Sample.Span.DAY, day - timedelta(days=7), day)
    for span, kept in SAMPLE_RETENTION.items():
        Sample.objects.filter(span=span, at__lt=at - kept).delete()


def _average(narrow: int, wide: int, since: datetime, until: datetime) -> None:
    averages = ", ".join(f"avg({name})" for name in COUNTERS)
    statement = _THIN.format(columns=", ".join(COUNTERS), averages=averages)
    values: dict[str, Any] = {"narrow": int(narrow), "wide": int(wide), "since": since, "until": until}
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
