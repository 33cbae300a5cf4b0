"""The statistics of the last day, summed over all computes of an account."""

from datetime import datetime, timedelta

from django.db.models import F, Sum, Value

from accounts.actors import Actor
from compute.models import Sample

NAMES = ("cpu", "disk", "swap", "net_in", "net_out")
_KINDS = ("v4", "v4_private", "v6", "v6_private")
SUMS = {
    "sum_cpu": Sum("cpu"),
    "sum_disk": Sum("io"),
    "sum_swap": Sum("swap"),
    "sum_in": Sum(sum((F(f"{kind}_in") for kind in _KINDS), start=Value(0.0))),
    "sum_out": Sum(sum((F(f"{kind}_out") for kind in _KINDS), start=Value(0.0))),
}


def of_last_day(actor: Actor, at: datetime) -> dict[str, list[dict[str, int]]]:
    """Return the five-minute samples of the 24 hours before `at`, summed over the account's computes, with one
    query.

    Each of ``cpu`` (percent of a core), ``disk`` and ``swap`` (blocks a second), ``net_in`` and ``net_out`` (bits a
    second) is a list of ``{"x": milliseconds since 1970, "y": the sum}``. It is empty if there are no samples.
    """
    since = at - timedelta(hours=24)
    taken = Sample.objects.filter(instance__account=actor.account_id, span=Sample.Span.FIVE_MINUTES)
    points = taken.filter(at__gte=since, at__lt=at).values("at").order_by("at")
    charts: dict[str, list[dict[str, int]]] = {name: [] for name in NAMES}
    for taken_at, *sums in points.annotate(**SUMS).values_list("at", *SUMS):
        for name, value in zip(NAMES, sums, strict=True):
            charts[name].append({"x": int(taken_at.timestamp() * 1000), "y": round(value)})
    return charts
