"""The steps of clones: disks are copied from the source, which shows ``cloning`` until its last clone has ended."""

from functools import partial

from django.db.models.functions import Now

from accounts.actors import Actor
from compute.drivers.base import DiskSpec, Power
from compute.jobs.data import CloneData
from compute.jobs.definition import Fail, Outcome
from compute.machine_names import disk_name, machine_name
from compute.models import Config, Disk, Instance, Job
from compute.services.networking.vlans import record_vlan_changes, vlans_of
from compute.worker.run import Run
from compute.worker.steps.basic import create_next_disk, remove_instance
from config import word

SOURCE_GONE = word.sentence("The compute to clone was deleted.")


def copy_disks(run: Run[CloneData]) -> Outcome:
    """Copy the first missing disk; repeated until all are there."""
    if run.job.source_id is None:
        raise Fail(SOURCE_GONE)
    source = run.driver_of(run.job.source_id)
    return create_next_disk(run, Disk.objects.filter(pk__in=run.data.copies), partial(_spec, run), source)


def delete_copies(run: Run[CloneData]) -> None:
    """Delete the copies that the job made or began to make; the target's own disks stay."""
    for pk in run.data.copies:
        run.driver.delete_disk(run.machine, disk_name(run.instance.pk, pk))


def release_source(run: Run[CloneData]) -> None:
    """Set the source's status to the one that the driver reported, unless another clone of the source is live.

    Runs in the last settle, however the job ends. `compute.jobs.store` locked the source's row before it ended the
    job. So of two clones that end at the same time, the second sees the end of the first.
    """
    source = run.job.source
    if source is None or Job.objects.filter(source=source, state__in=Job.LIVE).exclude(pk=run.job.pk).exists():
        return
    status = Instance.Status.RUNNING if run.source_power == Power.ON else run.data.source_off_status
    cloning = Instance.objects.filter(pk=source.pk, status=Instance.Status.CLONING)
    cloning.update(status=status, updated=Now())


def remove_clone(run: Run[CloneData]) -> None:
    """Delete the rows of the new instance, whose machine and disks are gone already."""
    release_source(run)
    remove_instance(run)


def remove_copied_rows(run: Run[CloneData]) -> None:
    """Delete the clone's rows from an instance that existed before."""
    release_source(run)
    before = vlans_of(run.instance.configs.all())
    Config.objects.filter(pk__in=run.data.config_ids).delete()
    actor = Actor(run.instance.account_id, username=run.job.created_by)
    record_vlan_changes(actor, run.instance, before, vlans_of(run.instance.configs.all()))
    Disk.objects.filter(pk__in=run.data.copies).delete()


def _spec(run: Run[CloneData], disk: Disk) -> DiskSpec:
    original = run.data.copies[disk.pk]
    source_id = run.job.source_id
    return DiskSpec(
        disk_name(run.instance.pk, disk.pk),
        disk.size,
        disk.filesystem,
        copy_of=(machine_name(source_id), disk_name(source_id, original)),
    )
