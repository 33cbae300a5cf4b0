"""Automatic backups: who gets which day and window, and whose backup is due. For the clock."""

import logging
from collections import Counter
from datetime import UTC, date, datetime

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.models import Backup, Disk, Instance, Job
from compute.models.instances import UNSCHEDULED
from compute.refs import instance_ref
from compute.services.backups.backups import WEEKDAYS, take_automatic
from compute.services.backups.settings import SCHEDULING
from config.errors import DomainError

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500
"""How many instances one look takes; the next comes soon."""
WINDOWS = tuple(window.value for window in Instance.Window if window != Instance.Window.SCHEDULING)


def look(moment: datetime | None = None) -> int:
    """Choose the schedules that are left to the platform, and take the backups that are due; returns how many.

    `moment` is the time, by default the database's. Any number of clocks may look at once.
    """
    moment = (moment or _clock()).astimezone(UTC)
    choose_schedules()
    return take_due(moment)


# --- day and window -----------------------------------------------------------------------------------


def choose_schedules() -> int:
    """Give instances the windows and days that the fewest others of their region have; returns how many."""
    waiting = Instance.objects.filter(UNSCHEDULED).order_by("pk")[:MOST_AT_ONCE]
    load: dict[str, tuple[Counter[str], Counter[str]]] = {}
    chosen = 0
    for instance in waiting:
        if instance.region_id not in load:
            load[instance.region_id] = (_load(instance, "backups_window"), _load(instance, "backups_day"))
        windows, days = load[instance.region_id]
        chosen += _choose(instance, _least(windows, WINDOWS), _least(days, WEEKDAYS))
        windows[str(instance.backups_window)] += 1
        days[str(instance.backups_day)] += 1
    return chosen


def _load(instance: Instance, column: str) -> Counter[str]:
    """How many instances of the same region have each value."""
    rows = Instance.objects.filter(region=instance.region_id, backups_enabled=True)
    return Counter(dict(rows.order_by().values_list(column).annotate(number=Count("pk"))))


def _least(load: Counter[str], values: tuple[str, ...]) -> str:
    return min(values, key=lambda value: load[value])


@transaction.atomic
def _choose(instance: Instance, window: str, day: str) -> bool:
    """Set what is unset, unless somebody else just did."""
    before = {"backups_window": instance.backups_window, "backups_day": instance.backups_day}
    unset = [name for name, value in before.items() if value in (None, SCHEDULING)]
    instance.backups_window = window if "backups_window" in unset else instance.backups_window
    instance.backups_day = day if "backups_day" in unset else instance.backups_day
    still = Instance.objects.filter(UNSCHEDULED, pk=instance.pk, **before)
    if not still.update(backups_window=instance.backups_window, backups_day=instance.backups_day):
        return False
    record_event(Actor.platform(instance.account_id), "compute_update", instance_ref(instance))
    return True


# --- what is due --------------------------------------------------------------------------------------


def take_due(moment: datetime) -> int:
    """Enqueue the backup of each instance in whose window `moment` (UTC) is and that has none of that day yet.

    Who is busy is asked again until the window ends. Returns how many were enqueued.
    """
    window, day = f"W{moment.hour // 2 * 2}", moment.date()
    return sum(_take(instance, day, window) for instance in due(window, day)[:MOST_AT_ONCE])


def due(window: str, day: date) -> QuerySet[Instance]:
    """The instances that are free to be backed up and have to be. Those that failed too often today are not."""
    todays = Backup.objects.filter(instance=OuterRef("pk"), type=Backup.Type.AUTOMATIC, day=day)
    failed = todays.filter(status__in=Backup.GIVEN_UP).order_by().values("instance")
    tries = Coalesce(Subquery(failed.annotate(number=Count("pk")).values("number")), 0)
    disks = Disk.objects.filter(instance=OuterRef("pk")).exclude(filesystem=Disk.Filesystem.SWAP)
    return (
        Instance.objects.filter(
            Exists(disks),
            ~Exists(todays.exclude(status__in=Backup.GIVEN_UP)),
            ~Exists(Job.objects.filter(instance=OuterRef("pk"), state__in=Job.LIVE)),
            Q(host__maintenance=None),
            backups_enabled=True,
            backups_window=window,
            status__in=Instance.SETTLED,
        )
        .alias(tries=tries)
        .filter(tries__lt=settings.BACKUPS_TRIES)
        .order_by("pk")
    )


def _take(instance: Instance, day: date, window: str) -> bool:
    try:
        with transaction.atomic():
            return take_automatic(instance, day, window) is not None
    except DomainError as error:
        # somebody was quicker; the next look comes soon, and the others must not wait for this one
        log.info("no backup of %s yet: %s", instance.pk, error)
        return False


def _clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
