"""Hosts that do not answer, and the jobs that wait for them."""

from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Exists, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Now

from compute.models import Host, Job, Reservation
from config.display.plurals import counted

if TYPE_CHECKING:
    from datetime import datetime

    from django_stubs_ext import WithAnnotations


class Waiting(TypedDict):
    clock: "datetime"
    waiting: int


def unreachable_hosts() -> "QuerySet[WithAnnotations[Host, Waiting]]":
    """Return the hosts that do not answer, in the order since when. Empty disabled hosts are left out.

    Each has the database's `clock` and the number of jobs `waiting` for it.
    """
    used = Q(enabled=True) | Exists(Reservation.objects.filter(host=OuterRef("pk")))
    return (
        Host.objects.filter(used, unreachable_since__isnull=False)
        .annotate(clock=Now(), waiting=count_jobs_needing(OuterRef("pk")))
        .order_by("unreachable_since", "label")
    )


def count_jobs_needing(host: Any) -> Subquery:
    """Return an expression: the number of jobs that need a host."""
    return Subquery(jobs_needing(host).order_by().annotate(number=Func("pk", function="COUNT")).values("number"))


def jobs_needing(host: Any) -> QuerySet[Job]:
    """Return the live jobs that need a host (key or expression). Reads only the small index of live jobs.

    These are jobs of its instances, moves there, clones from it, and jobs that its silence stopped.
    """
    key = Cast(host if hasattr(host, "resolve_expression") else Value(host), TextField())
    concerned = Q(instance__host=host) | Q(source__host=host) | Q(waits_for=host) | Q(target=key)
    return Job.objects.filter(state__in=Job.LIVE).alias(target=KT("data__host")).filter(concerned)


def jobs_waiting(number: int) -> str:
    return counted(number, "job waits", "jobs wait") if number else "no jobs wait"
