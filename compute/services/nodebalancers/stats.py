"""Statistics of load balancers: counted by the balancing hosts, kept as five-minute samples and monthly sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from compute.models import (
    NodeBalancer,
    NodeBalancerMeter,
    NodeBalancerNode,
    NodeBalancerSample,
    NodeBalancerTransfer,
)
from compute.services.common.months import month_of
from config.errors import Invalid

SAMPLE_SECONDS = 300
"""The duration of a sample in seconds."""
SAMPLE_RETENTION = timedelta(hours=48)
BITS = 8
NONE_YET = "Stats are unavailable at this time."

Status = NodeBalancerNode.Status


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a load balancer's counters: connections, and bytes from clients and to them."""

    connections: int = 0
    received: int = 0
    sent: int = 0

    def __add__(self, other: "Growth") -> "Growth":
        pairs = (self.connections, other.connections), (self.received, other.received), (self.sent, other.sent)
        return Growth(*map(sum, pairs))


@transaction.atomic
def record(grown: Mapping[int, Growth], at: datetime) -> None:
    """Add the traffic of load balancers, by id, on one host since its last report. Several hosts may report at
    once.

    The first report of the next five minutes writes the sample of the previous five.
    """
    rows = NodeBalancer.objects.filter(pk__in=grown).order_by("pk").select_for_update(no_key=True)
    ids = list(rows.values_list("pk", flat=True))
    NodeBalancerMeter.objects.bulk_create(
        [NodeBalancerMeter(nodebalancer_id=pk, since=at) for pk in ids], ignore_conflicts=True
    )
    meters = NodeBalancerMeter.objects.in_bulk(ids)
    samples = [sample for meter in meters.values() if (sample := _sample(meter, at))]
    NodeBalancerSample.objects.bulk_create(samples, ignore_conflicts=True)
    for sample in samples:
        meter = meters[sample.nodebalancer_id]
        meter.since, meter.connections, meter.received, meter.sent = at, 0, 0, 0
    for pk, meter in meters.items():
        meter.connections += grown[pk].connections
        meter.received += grown[pk].received
        meter.sent += grown[pk].sent
    NodeBalancerMeter.objects.bulk_update(
        meters.values(), ["since", "connections", "received", "sent"], batch_size=500
    )
    _count_transfer({pk: grown[pk] for pk in ids}, at)


def _sample(meter: NodeBalancerMeter, at: datetime) -> NodeBalancerSample | None:
    """Return the sample of the meter's five minutes, if they are over."""
    bucket = int(meter.since.timestamp()) // SAMPLE_SECONDS
    if int(at.timestamp()) // SAMPLE_SECONDS <= bucket:
        return None
    seconds = (at - meter.since).total_seconds()
    return NodeBalancerSample(
        nodebalancer_id=meter.pk,
        at=datetime.fromtimestamp(bucket * SAMPLE_SECONDS, UTC),
        connections=meter.connections / seconds,
        traffic_in=meter.received * BITS / seconds,
        traffic_out=meter.sent * BITS / seconds,
    )


def _count_transfer(grown: Mapping[int, Growth], at: datetime) -> None:
    """Add the traffic to the sums of the month, whose rows the first report of the month creates."""
    month = month_of(at)
    NodeBalancerTransfer.objects.bulk_create(
        [NodeBalancerTransfer(nodebalancer_id=pk, month=month) for pk in grown], ignore_conflicts=True
    )
    counted = NodeBalancerTransfer.objects.filter(nodebalancer__in=grown, month=month)
    rows = {row.nodebalancer_id: row for row in counted}
    changed = []
    for pk, growth in grown.items():
        if growth.received or growth.sent:
            rows[pk].received = F("received") + growth.received
            rows[pk].sent = F("sent") + growth.sent
            changed.append(rows[pk])
    NodeBalancerTransfer.objects.bulk_update(changed, ["received", "sent"], batch_size=500)


def thin(at: datetime) -> None:
    """Delete the samples that no answer shows any more."""
    NodeBalancerSample.objects.filter(at__lt=at - SAMPLE_RETENTION).delete()


def see(seen: Mapping[tuple[int, str], str]) -> int:
    """Write the statuses of nodes that a host reports, by node and checked address; returns how many changed.

    A report about an address that the node no longer has is ignored. The load balancer itself does not change:
    neither its version nor `updated`.
    """
    known = NodeBalancerNode.objects.filter(pk__in={pk for pk, _ in seen}).values_list("pk", "address", "status")
    new = {pk: seen[pk, address] for pk, address, status in known if seen.get((pk, address), status) != status}
    written = 0
    for pk, address, _ in known:
        if pk in new:
            written += NodeBalancerNode.objects.filter(pk=pk, address=address).update(status=new[pk])
    return written


def of_last_day(balancer: NodeBalancer) -> dict[str, Any]:
    """Return the samples of the last 24 hours, in the form of charts. Raises `Invalid` if there are none."""
    taken = NodeBalancerSample.objects.filter(nodebalancer=balancer, at__gte=now() - timedelta(hours=24)).order_by(
        "at"
    )
    rows = list(taken.values_list("at", "connections", "traffic_in", "traffic_out"))
    if not rows:
        raise Invalid(NONE_YET)
    charts: tuple[list[list[float]], ...] = ([], [], [])
    for at, *values in rows:
        for chart, value in zip(charts, values, strict=True):
            chart.append([int(at.timestamp() * 1000), round(value, 2)])
    connections, received, sent = charts
    return {
        "title": f"{balancer.label} ({balancer.pk}), last 24 hours, 5 minute averages",
        "data": {"connections": connections, "traffic": {"in": received, "out": sent}},
    }
