"""Recording the outcome of backups, complete or given up, and discarding superseded backups.

All functions run in the caller's transaction, which settles the cause. The instance is locked before its backups.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from compute.jobs.data import BackupsDeleteData
from compute.jobs.queue import enqueue_alone
from compute.models import Backup, Host, Instance, Job
from compute.services.usage.recording import record

S = Backup.Status
Rotation = Backup.Rotation

RESTORING = ("restore", "provision_from_backup")
"""The kinds of job that read the archives of the backup named in their data."""


def lock_all(instance_id: int) -> None:
    """Lock all backups of an instance in the order of their keys, before writes that take them in another order."""
    list(Backup.objects.filter(instance=instance_id).order_by("pk").select_for_update().values("pk"))


def discard(backups: Iterable[Backup], actor: Actor, event: Event | None = None) -> Job | None:
    """Delete the rows of backups, and enqueue the job that deletes their archives; None if they have none.

    The job continues `event`; a rotation has no event. The job waits for a restore that reads one of the backups.
    No other restore can begin, since the row is gone. No job may be making any of these backups.
    """
    gone = list(backups)
    if gone:
        lock_all(gone[0].instance_id)
    Backup.objects.filter(pk__in=[backup.pk for backup in gone]).delete()
    archives = [archive for backup in gone for archive in backup.archives]
    if not archives:
        return None
    # an instance stays with one driver, and so do its archives
    driver = Host.objects.values_list("driver", flat=True).get(instances=gone[0].instance_id)
    data = BackupsDeleteData(backup_ids=[backup.pk for backup in gone], archives=archives, driver=driver)
    return enqueue_alone("delete_backups", actor, event, data)


def discard_all(instance: Instance) -> None:
    """Discard every backup of an instance that is being taken away, whatever its status is."""
    discard(instance.backups.all(), Actor.platform(instance.account_id))


def keep(backup: Backup) -> None:
    """Mark a backup as successful, and discard the backups that it replaces.

    If backups were cancelled while its last disk was saved, the backup itself is discarded.
    """
    instance = _lock_row(backup)
    lock_all(instance.pk)
    platform = Actor.platform(backup.account_id)
    if not instance.backups_enabled:
        discard([backup], platform)
        record(backup.account_id, check=False, backups=[backup.pk])
        return
    Backup.objects.filter(pk=backup.pk).update(status=S.SUCCESSFUL, updated=Now(), finished=Now())
    Instance.objects.filter(pk=instance.pk).update(backups_available=True, backups_last_successful=Now())
    superseded = _superseded(backup)
    gone = [other.pk for other in superseded]
    discard(superseded, platform)
    _forget_failures(backup)
    record(backup.account_id, check=False, backups=[backup.pk, *gone])


def give_up(backup: Backup, message: str, aborted: bool) -> None:
    """Mark a backup in progress as failed, or with `aborted` as aborted by a user; none of its data is kept."""
    instance = _lock_row(backup)
    status = S.USER_ABORTED if aborted or not instance.backups_enabled else S.FAILED
    going = Backup.objects.filter(pk=backup.pk, status__in=Backup.IN_PROGRESS)
    going.update(status=status, message=message, updated=Now(), finished=Now())
    record(backup.account_id, check=False, backups=[backup.pk])


def refresh_available(instance: Instance) -> None:
    """Record whether the instance still has a backup to restore from."""
    there = Backup.objects.filter(instance=instance, status=S.SUCCESSFUL).exists()
    Instance.objects.filter(pk=instance.pk).update(backups_available=there)


def _superseded(backup: Backup) -> list[Backup]:
    """The complete backups that `backup` replaces.

    A snapshot replaces the snapshot, a daily backup the daily one. A weekly backup turns the previous weekly one
    into the biweekly one, which in turn replaces the previous biweekly one.
    """
    others = Backup.objects.filter(instance=backup.instance_id, type=backup.type, status=S.SUCCESSFUL)
    others = others.exclude(pk=backup.pk)
    if backup.rotation == Rotation.WEEKLY:
        gone = list(others.filter(rotation=Rotation.BIWEEKLY))
        weekly = list(others.filter(rotation=Rotation.WEEKLY).order_by("-pk").values_list("pk", flat=True))
        # at most one is expected; if there are more, the newest is kept
        gone += list(others.filter(pk__in=weekly[1:]))
        Backup.objects.filter(pk__in=weekly[:1]).update(rotation=Rotation.BIWEEKLY)
        return gone
    return list(others.filter(rotation=backup.rotation))


def _forget_failures(backup: Backup) -> None:
    """Delete the rows of backups that failed more than BACKUPS_FAILED_KEPT days ago. Their data was not kept."""
    failed = Backup.objects.filter(instance=backup.instance_id, status__in=Backup.GIVEN_UP)
    failed.filter(created__lt=Now() - timedelta(days=settings.BACKUPS_FAILED_KEPT)).delete()


def _lock_row(backup: Backup) -> Instance:
    return Instance.objects.select_for_update(no_key=True).get(pk=backup.instance_id)
