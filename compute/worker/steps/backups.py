"""The steps of backups: saving disks, deleting archives, and making disks of archives again."""

from collections.abc import Iterable, Sequence

from accounts.actors import Actor
from compute.drivers.base import DiskSpec, Driver, Progress, Refused
from compute.jobs.data import BackupData, BackupProvisionData, BackupsDeleteData, JobData, RestoreData
from compute.jobs.definition import Again, Fail, Outcome, Wait
from compute.machine_names import disk_name
from compute.models import Backup, Config, Disk, Instance, Job
from compute.services.backups import records
from compute.services.backups.content import insert_rows
from compute.services.backups.records import RESTORING
from compute.services.networking.vlans import record_vlan_changes, vlans_of
from compute.worker.run import Run
from compute.worker.steps.basic import create_next_disk, start_profile
from compute.worker.steps.one_by_one import one_by_one
from config import word

READ_AGAIN = 10.0

# --- taking one ---------------------------------------------------------------------------------------

CANCELLED = word.sentence("The backups of the compute were cancelled.")


def mark_running(run: Run[BackupData]) -> None:
    """Mark the backup as running."""
    pending = Backup.objects.filter(pk=run.data.backup_id, status=Backup.Status.PENDING)
    pending.update(status=Backup.Status.RUNNING)


def save_disks(run: Run[BackupData]) -> Outcome:
    """Save the first disk that is not saved yet; repeated until all are. `Fail` where backups were cancelled."""
    if not run.instance.backups_enabled:
        raise Fail(CANCELLED)
    backup = _backup(run)
    wanted = [position for position, disk in enumerate(backup.disks) if disk["archive"]]
    left = [position for position in wanted if not backup.disks[position]["saved"]]

    def keep(position: int) -> Progress:
        disk = disk_name(run.job.instance_id, run.data.disk_ids[position])
        return run.driver.save_disk(run.machine, disk, backup.disks[position]["archive"])

    return one_by_one(run, left, len(wanted), keep)


def mark_disk_saved(run: Run[BackupData]) -> None:
    """Mark the disk that `save_disks` finished as saved."""
    if run.finished is None:
        return
    backup = _backup(run)
    records.lock_all(backup.instance_id)  # the last settle also changes the backups that this one replaces
    backup.disks[run.finished]["saved"] = True
    backup.save(update_fields=["disks", "updated"])


def delete_saved_disks(run: Run[BackupData]) -> None:
    """Delete the archives that the backup has so far. If the backup has no row, another job deletes them."""
    backup = Backup.objects.filter(pk=run.data.backup_id).first()
    if backup is not None:
        _delete(run.driver, backup.archives)


def complete_backup(run: Run[BackupData]) -> None:
    records.keep(_backup(run))


def fail_backup(run: Run[BackupData]) -> None:
    backup = Backup.objects.filter(pk=run.data.backup_id).first()
    if backup is not None:
        records.give_up(backup, run.job.error, run.job.cancelled)


# --- deleting -----------------------------------------------------------------------------------------


def delete_archives(run: Run[BackupsDeleteData]) -> Outcome:
    """Delete the archives of backups whose rows are gone, when no restore reads them any more."""
    reading = Job.objects.filter(kind__in=RESTORING, state__in=Job.LIVE, data__backup__in=run.data.backup_ids)
    if reading.exists():
        return Wait(READ_AGAIN)
    _delete(run.archives(run.data.driver), run.data.archives)
    return None


def _delete(driver: Driver, archives: Sequence[str]) -> None:
    for archive in archives:
        driver.delete_archive(archive)


# --- restoring ----------------------------------------------------------------------------------------


def reboot_if_intact(run: Run[RestoreData]) -> Outcome:
    """Find out which disks are left. If none is missing, boot an instance that was shut down for the restore.

    The first step of a restore that overwrites is undone last: `remove_restored_rows` writes what this undo found.
    An instance that cannot boot any more stays off.
    """
    run.present = run.driver.disks(run.machine)
    if not run.data.running or not _names(run, run.data.previous_disk_ids) <= run.present:
        return None
    try:
        return start_profile(run, run.data.previous_config_id)
    except (Fail, Refused):
        return None


def delete_old_disks(run: Run[RestoreData]) -> Outcome:
    """Delete the first of the instance's previous disks; repeated until none is left."""
    old = list(Disk.objects.filter(pk__in=run.data.previous_disk_ids).order_by("pk").values_list("pk", flat=True))
    run.finished = old[0] if old else None
    if old:
        run.driver.delete_disk(run.machine, disk_name(run.job.instance_id, old[0]))
    return Again() if len(old) > 1 else None


def replace_deleted_disk(run: Run[RestoreData]) -> None:
    """Delete the row of the disk that `delete_old_disks` deleted; after the last one, insert the backup's rows."""
    Disk.objects.filter(pk=run.finished).delete()  # type: ignore[misc] # the stubs know no None in lookups: no disk
    if not Disk.objects.filter(pk__in=run.data.previous_disk_ids).exists():
        _replace(run)


def _replace(run: Run[RestoreData]) -> None:
    """Replace the old profiles by the rows of the backup, whose disks are still to be made."""
    keys, instance = run.data.part_keys, run.instance
    mine = Disk.objects.filter(pk__in=keys["disks"]), Config.objects.filter(pk__in=keys["configs"])
    if any(rows.exists() for rows in mine):
        return  # an earlier run did it
    before = vlans_of(instance.configs.all())
    instance.configs.filter(pk__in=run.data.previous_config_ids).delete()
    restored = insert_rows(run.data.content, instance, keys)
    actor = Actor(instance.account_id, username=run.job.created_by)
    record_vlan_changes(actor, instance, before, vlans_of(restored.configs))
    Instance.objects.filter(pk=instance.pk).update(image=restored.image)


def restore_disks(run: Run[RestoreData] | Run[BackupProvisionData]) -> Outcome:
    """Make the first missing disk from its archive; repeated until all are there. Swap is made empty."""
    archives = run.data.archives
    return create_next_disk(
        run,
        Disk.objects.filter(pk__in=archives),
        lambda disk: DiskSpec(
            disk_name(run.job.instance_id, disk.pk), disk.size, disk.filesystem, image=archives[disk.pk]
        ),
    )


def delete_restored_disks(run: Run[RestoreData] | Run[BackupProvisionData]) -> None:
    """Delete the disks that the job made or began to make; the instance's previous disks stay."""
    for pk in run.data.archives:
        run.driver.delete_disk(run.machine, disk_name(run.job.instance_id, pk))


def remove_restored_rows(run: Run[RestoreData]) -> None:
    """Delete the rows that the restore inserted, and the rows of previous disks that are gone."""
    keys = run.data.part_keys
    Config.objects.filter(pk__in=keys["configs"]).delete()
    Disk.objects.filter(pk__in=keys["disks"]).delete()
    if not run.data.overwrite:
        return
    old = Disk.objects.filter(pk__in=run.data.previous_disk_ids)
    left = [pk for pk in run.data.previous_disk_ids if disk_name(run.job.instance_id, pk) in run.present]
    old.exclude(pk__in=left).delete()
    old.update(status=Disk.Status.READY)
    if run.data.previous_disk_ids and not left:
        Config.objects.filter(pk__in=run.data.previous_config_ids).delete()
        Instance.objects.filter(pk=run.instance.pk).update(image=None)


def _names(run: Run[JobData], disks: Iterable[int]) -> set[str]:
    return {disk_name(run.job.instance_id, pk) for pk in disks}


def _backup(run: Run[BackupData]) -> Backup:
    return Backup.objects.get(pk=run.data.backup_id)
