"""Measures of managed monitoring for operators: monitored services, and late checks."""

from collections.abc import Iterator

from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Now
from prometheus_client.core import GaugeMetricFamily, Metric

from config.monitoring.registry import measures
from managed.models import Service


@measures
def services() -> Iterator[Metric]:
    family = GaugeMetricFamily("skerry_managed_services", "Watched services.", labels=["status"])
    found = dict(Service.objects.order_by().values_list("status").annotate(number=Count("pk")))
    for status in Service.Status.values:
        family.add_metric([status], found.get(status, 0))
    yield family


@measures
def probes() -> Iterator[Metric]:
    """Return the lag of checks: of services that are due and that no worker has claimed."""
    watched = ~Q(status=Service.Status.DISABLED) & Q(account__is_active=True, account__managed=True)
    unclaimed = Q(next_check_at__lte=Now()) & (Q(lease_until=None) | Q(lease_until__lt=Now()))
    found = Service.objects.filter(watched & unclaimed).aggregate(
        number=Count("pk"), first=Min("next_check_at"), clock=Max(Now())
    )
    lag = (found["clock"] - found["first"]).total_seconds() if found["first"] else 0.0
    yield GaugeMetricFamily("skerry_probes_due", "Checks of services that are due.", value=found["number"])
    yield GaugeMetricFamily(
        "skerry_probe_late_seconds", "The time that the oldest due check has waited.", value=lag
    )
