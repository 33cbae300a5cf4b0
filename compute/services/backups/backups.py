"""The backups of an instance: enabling and cancelling them, taking snapshots, and listing the backups."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.events import draft_event, open_event, record_event
from compute.jobs.data import BackupData
from compute.jobs.queue import enqueue
from compute.models import Backup, Disk, Instance, Job
from compute.refs import backup_ref, instance_ref
from compute.services.backups.content import content_of
from compute.services.backups.records import RESTORING, discard, refresh_available
from compute.services.backups.settings import BACKUPS_DISABLED, NOT_OFFERED, is_offered, switch_on
from compute.services.common.locks import is_busy, lock_any
from compute.services.hosts.maintenance import note_maintenance
from compute.services.usage.recording import record
from config.db.inserts import draw_keys, insert
from config.db.rows import lock
from config.errors import Busy, Invalid, Problems

S = Backup.Status
Type = Backup.Type
NOT_ENABLED = "Backups are not enabled for this compute."


@dataclass(frozen=True, slots=True)
class Listing:
    """The backups of an instance. Failed ones are left out: they are found only by their id."""

    automatic: list[Backup]
    current: Backup | None
    in_progress: Backup | None


def listing(instance: Instance) -> Listing:
    """Return the backups of an instance, the oldest first. One query.

    A snapshot in progress replaces the current one only when it is complete.
    """
    rows = Backup.objects.filter(instance=instance).select_related("instance__host")
    there = list(rows.exclude(status__in=Backup.GIVEN_UP).order_by("pk"))
    snapshots = [backup for backup in there if backup.type == Type.SNAPSHOT]
    complete = [backup for backup in snapshots if backup.status == S.SUCCESSFUL]
    under_way = [backup for backup in snapshots if backup.status in Backup.IN_PROGRESS]
    return Listing(
        automatic=[backup for backup in there if backup.type == Type.AUTOMATIC],
        current=complete[-1] if complete else None,
        in_progress=under_way[-1] if under_way else None,
    )


# --- enabling and cancelling --------------------------------------------------------------------------


@transaction.atomic
def enable(actor: Actor, instance: Instance) -> None:
    """Enable backups of the instance; no change if they are enabled. Raises `Invalid` for a type without
    backups."""
    locked = lock_any(instance)
    if locked.backups_enabled:
        return
    if not is_offered(locked.type):
        raise Invalid(NOT_OFFERED)
    locked.save(update_fields=[*switch_on(locked), "updated"])
    record_event(actor, "backups_enable", instance_ref(locked))
    record(locked.account_id, check=False, instances=[locked.pk])


@transaction.atomic
def cancel(actor: Actor, instance: Instance) -> None:
    """Disable backups of the instance, clear their schedule and delete all of its backups; no change if disabled.

    Failed backups are deleted too. A backup in progress is given up by its job. Raises `Busy` while the instance is
    being restored, or another instance from one of its backups.
    """
    locked = lock_any(instance)
    if not locked.backups_enabled:
        return
    backups = list(Backup.objects.filter(instance=locked).select_for_update().order_by("pk"))
    if locked.status == Instance.Status.RESTORING or _is_read(backups):
        raise Busy
    Instance.objects.filter(pk=locked.pk).update(**BACKUPS_DISABLED, updated=Now())
    finished = [backup for backup in backups if backup.status not in Backup.IN_PROGRESS]
    if not any(backup.archives for backup in finished):
        discard(finished, actor)
        record_event(actor, "backups_cancel", instance_ref(locked))
    else:
        event = open_event(
            username=actor.username,
            account_id=locked.account_id,
            action="backups_cancel",
            entity=instance_ref(locked),
        )
        discard(finished, actor, event)
    gone = [backup.pk for backup in finished]
    record(locked.account_id, check=False, instances=[locked.pk], backups=gone)


@transaction.atomic
def delete(actor: Actor, backup: Backup) -> None:
    """Delete one backup with its archives, for staff. Raises `Invalid` while the backup is being made."""
    locked = lock_any(backup.instance)
    found = lock(Backup.objects.filter(pk=backup.pk), to_delete=True)
    if found.status in Backup.IN_PROGRESS:
        raise Invalid("The backup is being made: cancel its job instead.")
    ref = backup_ref(found)
    discard([found], actor)
    refresh_available(locked)
    record_event(
        actor, "compute_update", instance_ref(locked), ref, message="A backup was deleted by the platform."
    )
    record(locked.account_id, check=False, backups=[backup.pk])


def _is_read(backups: list[Backup]) -> bool:
    """Whether a live job restores one of these backups. Their rows are locked: no restore begins meanwhile."""
    ids = [backup.pk for backup in backups]
    return Job.objects.filter(kind__in=RESTORING, state__in=Job.LIVE, data__backup__in=ids).exists()


# --- taking one ---------------------------------------------------------------------------------------


@transaction.atomic
def snapshot(actor: Actor, instance: Instance, label: str | None, problems: Problems | None = None) -> Backup:
    """Take a snapshot now, which replaces the previous snapshot when it is complete.

    Raises `Invalid` with all problems: backups are not enabled, there are no disks to back up, or the host is under
    maintenance. Raises `Busy` while another job of the instance is live. If there is no label, there are
    `problems`.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    if not locked.backups_enabled:
        problems.add(None, NOT_ENABLED)
    return take(actor, locked, "snapshot", problems, type=Type.SNAPSHOT, label=label)


def take(actor: Actor, locked: Instance, kind: str, problems: Problems, message: str = "", **fields: Any) -> Backup:
    """Insert a backup of the locked instance as it is now, and enqueue the job of this `kind` that makes it.

    `fields` are columns of the backup, `message` is the message of its event. Raises as `snapshot` does, and also
    the given `problems`. Runs in the caller's transaction.
    """
    busy = is_busy(locked)
    disks = list(locked.disks.order_by("pk"))
    if not busy:
        note_maintenance(locked, problems)
        if all(disk.filesystem == Disk.Filesystem.SWAP for disk in disks):
            problems.add(None, "This compute has no disks to back up.")
    problems.raise_any()
    if busy:
        raise Busy
    (key,) = draw_keys(Backup)
    backup = Backup(pk=key, instance=locked, account_id=locked.account_id, region_id=locked.region_id, **fields)
    content = content_of(locked, disks, key)
    backup.disks, backup.profiles = content["disks"], content["profiles"]
    backup.configs = [profile["label"] for profile in backup.profiles]
    data = BackupData(backup_id=key, disk_ids=[disk.pk for disk in disks])
    enqueue(kind, locked, actor, data=data, secondary=backup_ref(backup), message=message)
    backup.save(force_insert=True)
    record(locked.account_id, backups=[key])
    return backup


def take_automatic(instance: Instance, day: date, window: str) -> Backup | None:
    """Take the automatic backup of a day; None if that backup exists by now, or if the schedule has changed.

    On the scheduled weekday it is the weekly backup. Raises as `snapshot` does. Runs in the caller's transaction.
    """
    locked = lock_any(instance)
    if not _is_due(locked, day, window):
        return None
    message, fields = _automatic(locked, day, window)
    return take(Actor.platform(locked.account_id), locked, "backup", Problems(), message, **fields)


@transaction.atomic
def fail_automatic(instance: Instance, day: date, window: str, reason: str) -> None:
    """Record that the automatic backup of a day was refused: a failed backup, and its event with the reason.

    It counts as one of BACKUPS_TRIES. Without it, the customer would not learn that there are no backups.
    """
    locked = lock_any(instance)
    if not _is_due(locked, day, window):
        return
    message, fields = _automatic(locked, day, window)
    failed = Backup.objects.create(
        instance=locked, account_id=locked.account_id, region_id=locked.region_id, status=S.FAILED, message=reason,
        finished=now(), **fields,
    )  # fmt: skip
    platform = Actor.platform(locked.account_id)
    event = draft_event(
        username=platform.username, account_id=platform.account_id, action="compute_snapshot", started=True,
        entity=instance_ref(locked), secondary=backup_ref(failed), message=f"{message} {reason}",
    )  # fmt: skip
    event.status = Event.Status.FAILED
    insert(event)


def _is_due(locked: Instance, day: date, window: str) -> bool:
    """Tell whether the locked instance still has this window, and no backup of the day."""
    todays = Backup.objects.filter(instance=locked, type=Type.AUTOMATIC, day=day)
    there = todays.exclude(status__in=Backup.GIVEN_UP)
    return locked.backups_enabled and locked.backups_window == window and not there.exists()


def _automatic(locked: Instance, day: date, window: str) -> tuple[str, dict[str, Any]]:
    """Return the message of the event of an automatic backup, and the columns of the backup."""
    weekly = locked.backups_day == WEEKDAYS[day.weekday()]
    rotation = Backup.Rotation.WEEKLY if weekly else Backup.Rotation.DAILY
    message = f"The {rotation} backup of {day:%Y-%m-%d}, in the window {window}."
    return message, {"type": Type.AUTOMATIC, "rotation": rotation, "day": day}


D = Instance.Day
WEEKDAYS = (D.MONDAY, D.TUESDAY, D.WEDNESDAY, D.THURSDAY, D.FRIDAY, D.SATURDAY, D.SUNDAY)
"""The days of the week, in the order of `date.weekday`."""
