"""Restoring backups into an existing instance."""

from dataclasses import replace

from django.db import transaction
from django.db.models import QuerySet

from accounts.actors import Actor
from accounts.services.account import lock_account
from compute.jobs.data import RestoreData
from compute.jobs.queue import enqueue
from compute.models import Backup, Disk, Instance, Job
from compute.services.backups.content import archives_of, draw_row_keys, insert_rows, vlans_kept
from compute.services.common.disk_space import left
from compute.services.common.locks import is_busy, lock_any, named_instance
from compute.services.networking.vlans import bring_vlans, check_vlans, record_vlan_changes, vlans_of
from config.errors import Busy, Problems

Status = Instance.Status
NOT_AVAILABLE = "The backup is not available."


@transaction.atomic
def restore(
    actor: Actor,
    backup: Backup,
    compute_id: int | None,
    overwrite: bool = False,
    problems: Problems | None = None,
) -> Job:
    """Add the disks and profiles of a backup to an instance of the account; with `overwrite` in place of its own.

    A running instance keeps running. With `overwrite`, it is shut down, and `offline` afterwards.

    Raises `Invalid` with every failing field: ``compute_id`` if there is no such instance, if it is in another
    region than the backup, or if it lacks disk space for it. Raises `Denied` on this field if the actor may only
    read the instance, and `Busy` while a job of the instance is live. If there is no `compute_id`, there are
    `problems`.
    """
    kept, target = _lock_and_check(actor, backup, compute_id, overwrite, problems or Problems())
    # with `overwrite` the profiles come later, but their VLANs count from now on
    bring_vlans(target.account_id, target.region_id, vlans_kept(kept.content))
    data = _data_of(kept, target, overwrite)
    job = enqueue("restore", target, actor, data=data)
    if overwrite:
        # the job inserts the new rows when the last old disk is gone: together they might not fit the type
        target.disks.update(status=Disk.Status.DELETING)
    else:
        _add_rows(actor, target, data)
    return job


def _lock_and_check(
    actor: Actor, backup: Backup, compute_id: int | None, overwrite: bool, problems: Problems
) -> tuple[Backup, Instance]:
    """Lock the account, the instance and the backup, and return the last two. Raises the errors of `restore`."""
    lock_account(actor.account_id)  # before the instance, for the VLANs that the profiles may bring
    target = None if compute_id is None else named_instance(actor, compute_id, "compute_id", problems)
    target = target and lock_any(target)
    busy = target is not None and is_busy(target)
    kept = lock_backup(Backup.objects.filter(pk=backup.pk))
    if kept is None:
        problems.add(None, NOT_AVAILABLE)
    elif target:
        if not busy and "overwrite" not in problems:
            _check_space(kept, target, overwrite, problems)
        check_place(kept, target.region_id, "compute_id", problems)
        check_vlans(target.account_id, target.region, vlans_kept(kept.content), "compute_id", problems)
    kept = problems.checked(kept)
    target = problems.checked(target)
    if busy:
        raise Busy
    return kept, target


def _data_of(backup: Backup, target: Instance, overwrite: bool) -> RestoreData:
    """Draw the keys of the new rows, and return the data of the job."""
    keys = draw_row_keys(backup.content)
    data = RestoreData(
        backup_id=backup.pk,
        content=backup.content,
        part_keys=keys,
        archives=archives_of(backup.content, keys),
        overwrite=overwrite,
    )
    if overwrite:
        # the profile to boot again if the job fails before data is lost, and the disks and profiles to delete
        return replace(
            data,
            running=target.status == Status.RUNNING,
            previous_config_id=target.booted_config_id,
            previous_disk_ids=list(target.disks.values_list("pk", flat=True)),
            previous_config_ids=list(target.configs.values_list("pk", flat=True)),
        )
    if target.status in (Status.STOPPED, Status.RUNNING):
        # the watchdog handles a machine that goes off by itself meanwhile: it checks running instances
        return replace(data, off_status=target.status)
    return data


def _add_rows(actor: Actor, target: Instance, data: RestoreData) -> None:
    """Insert the new disks and profiles. Those that the instance has are kept."""
    before = vlans_of(target.configs.all())
    record_vlan_changes(actor, target, before, before | vlans_kept(data.content))
    insert_rows(data.content, target, data.part_keys)


def _check_space(backup: Backup, target: Instance, overwrite: bool, problems: Problems) -> None:
    space = target.type.disk if overwrite else left(target)
    if backup.size > space:
        problems.add("compute_id", f"The backup needs {backup.size} MB, and the compute has {space} MB for it.")


def lock_backup(backups: QuerySet[Backup]) -> Backup | None:
    """Lock the only one of these backups, so that it is not discarded, and return it if it is complete."""
    found = backups.select_for_update().first()
    return found if found and found.status == Backup.Status.SUCCESSFUL else None


def check_place(backup: Backup, region_id: str, field: str, problems: Problems) -> None:
    """Note on `field` if the backup is of another region than this one."""
    if reason := place_refusal(backup, region_id):
        problems.add(field, reason)


def place_refusal(backup: Backup, region_id: str) -> str:
    """The reason why the backup cannot be restored in the region; empty if it can."""
    if backup.region_id == region_id:
        return ""
    return f"The backup can be restored in the region {backup.region_id} only."
