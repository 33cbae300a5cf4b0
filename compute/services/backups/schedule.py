"""Automatic backups: choosing the days and windows of instances, and taking due backups. The clock calls this
module."""

import logging
from collections import Counter
from contextlib import suppress
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
from compute.services.backups.backups import WEEKDAYS, fail_automatic, take_automatic
from compute.services.backups.settings import SCHEDULING
from config import word
from config.errors import Busy, DomainError, Invalid, Missing

log = logging.getLogger(__name__)

CHOSEN = word.sentence(
    "The platform chose the backup schedule of the compute: window {window}, weekly backup on {day}."
)
MAX_AT_ONCE = 500
"""The most instances that one run handles; the next run comes soon."""
WINDOWS = tuple(window.value for window in Instance.Window if window != Instance.Window.SCHEDULING)


def enqueue_due_backups(moment: datetime | None = None) -> int:
    """Choose the schedules that are left to the platform, and enqueue due backups; returns the number of backups.

    `moment` is the time, by default the database's. Any number of clocks may run this at once.
    """
    moment = (moment or _clock()).astimezone(UTC)
    choose_schedules()
    return take_due(moment)


# --- day and window -----------------------------------------------------------------------------------


def choose_schedules() -> int:
    """Give unscheduled instances the least used window and day of their region; returns how many instances."""
    waiting = Instance.objects.filter(UNSCHEDULED).order_by("pk")[:MAX_AT_ONCE]
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
    """The number of instances of the same region with backups, by their value of the column."""
    rows = Instance.objects.filter(region=instance.region_id, backups_enabled=True)
    return Counter(dict(rows.order_by().values_list(column).annotate(number=Count("pk"))))


def _least(load: Counter[str], values: tuple[str, ...]) -> str:
    return min(values, key=lambda value: load[value])


@transaction.atomic
def _choose(instance: Instance, window: str, day: str) -> bool:
    """Set the columns that are unset, unless the schedule has changed since the instance was read."""
    before = {"backups_window": instance.backups_window, "backups_day": instance.backups_day}
    unset = [name for name, value in before.items() if value in (None, SCHEDULING)]
    instance.backups_window = window if "backups_window" in unset else instance.backups_window
    instance.backups_day = day if "backups_day" in unset else instance.backups_day
    still = Instance.objects.filter(UNSCHEDULED, pk=instance.pk, **before)
    if not still.update(backups_window=instance.backups_window, backups_day=instance.backups_day):
        return False
    record_event(
        Actor.platform(instance.account_id), "compute_update", instance_ref(instance),
        message=CHOSEN.format(window=instance.backups_window, day=instance.backups_day),
    )  # fmt: skip
    return True


# --- what is due --------------------------------------------------------------------------------------


def take_due(moment: datetime) -> int:
    """Enqueue the backup of each instance whose window contains `moment` (UTC) and that has no backup of the day.

    A busy instance is tried again until the window ends. Returns the number of backups enqueued.
    """
    window, day = f"W{moment.hour // 2 * 2}", moment.date()
    return sum(_take(instance, day, window) for instance in due(window, day)[:MAX_AT_ONCE])


def due(window: str, day: date) -> QuerySet[Instance]:
    """Return the idle instances that still need their backup of the day, unless it failed BACKUPS_TRIES times."""
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
    except (Busy, Missing) as error:
        # the instance has just become busy or gone; the next run comes soon, and the others must not wait for it
        log.info("the backup of instance %s is tried again later: %s", instance.pk, error)
    except Invalid as refused:
        # the account's quotas, which do not change by themselves
        log.info("no backup of instance %s: %s", instance.pk, refused)
        with suppress(DomainError):  # the instance has just become gone
            fail_automatic(instance, day, window, word.unquoted(str(refused)))
    return False


def _clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
