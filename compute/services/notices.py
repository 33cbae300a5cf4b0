"""The platform's notices about an account's instances: moves, maintenance, outages.

Each function returns querysets of several tables with the same columns, called ``notice_…``, to be read as one.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Case, CharField, DateTimeField, F, IntegerField, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Concat, Now

from accounts.actors import Actor
from compute.models import HostMigration, Instance
from regions.models import Region

SCHEDULED, DUE, MOVING, MAINTENANCE, OUTAGE = "scheduled", "due", "moving", "maintenance", "outage"
HOST_OUTAGE = "host_outage"

Status = HostMigration.Status


def maintenance(actor: Actor) -> list[QuerySet[Any]]:
    """Maintenance, planned or under way, of instances that the actor may see.

    Columns: ``notice_type``, ``notice_status``, ``notice_reason``, ``notice_when``, and of the instance
    ``notice_id``, ``notice_label`` and ``notice_url``.
    """
    moves = _migrations(actor).annotate(
        notice_type=_text("cold_migration"),
        notice_status=F("status"),
        notice_reason=F("reason"),
        notice_when=F("when"),
    )
    kept_off = _in_maintenance(actor).annotate(
        notice_type=_text("reboot"),
        notice_status=_text(Status.STARTED),
        notice_reason=_text("The host is under maintenance."),
        notice_when=F("host__maintenance"),
    )
    return [moves, kept_off]


def notifications(actor: Actor) -> list[QuerySet[Any]]:
    """Notices for the actor: moves, maintenance and outages of instances that it may see, and outages of regions.

    Columns: ``notice_topic``, ``notice_when``, ``notice_body``, and of the subject ``notice_id`` (null for a
    region), ``notice_label`` and ``notice_url``.
    """
    moves = _migrations(actor).annotate(
        notice_topic=Case(
            When(status=Status.STARTED, then=Value(MOVING)),
            When(when__gt=Now(), then=Value(SCHEDULED)),
            default=Value(DUE),
            output_field=CharField(),
        ),
        notice_when=F("when"),
        notice_body=F("reason"),
    )
    kept_off = _in_maintenance(actor).annotate(
        notice_topic=_text(MAINTENANCE), notice_when=F("host__maintenance"), notice_body=_text("")
    )
    outages = Region.objects.filter(status=Region.Status.OUTAGE).annotate(
        notice_topic=_text(OUTAGE),
        notice_when=Cast(Value(None), DateTimeField()),
        notice_body=_text(""),
        notice_id=Cast(Value(None), IntegerField()),
        notice_label=F("id"),
        notice_url=Concat(Value("/v4/regions/"), "id", output_field=TextField()),
    )
    away = _on_silent_hosts(actor).annotate(
        notice_topic=_text(HOST_OUTAGE), notice_when=F("host__unreachable_since"), notice_body=_text("")
    )
    return [moves, kept_off, outages, away]


def of_instance(actor: Actor, instance: Instance) -> list[dict[str, Any]]:
    """Return the notifications about one instance and its region, with their columns as keys. One query."""
    moves, kept_off, outages, away = notifications(actor)
    found = [rows.filter(notice_id=instance.pk) for rows in (moves, kept_off, away)]
    found.append(outages.filter(notice_label=instance.region_id))
    return list(united(found))


def united(tables: Iterable[QuerySet[Any]]) -> QuerySet[Any, dict[str, Any]]:
    """Return notifications of several tables as one queryset, with their columns as keys."""
    columns = ("notice_topic", "notice_when", "notice_body", "notice_id", "notice_label")
    first, *others = (rows.order_by().values(*columns) for rows in tables)
    return first.union(*others, all=True)


def _migrations(actor: Actor) -> QuerySet[HostMigration]:
    """Host migrations that are not over."""
    seen = Instance.objects.visible_to(actor).values("pk")
    rows = HostMigration.objects.filter(instance__in=seen, status__in=(Status.PENDING, Status.STARTED))
    return _of_instance(rows, "instance_id", "instance__label")


def _in_maintenance(actor: Actor) -> QuerySet[Instance]:
    """Instances whose host is in maintenance."""
    rows = Instance.objects.visible_to(actor).filter(host__maintenance__isnull=False)
    return _of_instance(rows, "id", "label")


def _on_silent_hosts(actor: Actor) -> QuerySet[Instance]:
    """Return instances whose host has not answered for a round of the watchdog: a shorter silence is no outage.

    Hosts in maintenance are left out. Their instances have a notice of the maintenance, and are off anyway.
    """
    since = Now() - timedelta(seconds=settings.WATCHDOG_EVERY)
    rows = Instance.objects.visible_to(actor).filter(host__maintenance=None, host__unreachable_since__lte=since)
    return _of_instance(rows, "id", "label")


def _of_instance(rows: QuerySet[Any], key: str, label: str) -> QuerySet[Any]:
    url = Concat(Value("/v4/compute/instances/"), Cast(key, TextField()), output_field=TextField())
    return rows.annotate(notice_id=F(key), notice_label=F(label), notice_url=url)


def _text(value: str) -> Cast:
    return Cast(Value(value), TextField())
