"""The steps of a rebuild: machine off, old disks deleted, new disks made, and machine on again.

The new rows are inserted when the last old disk is gone, so that the disks never exceed the disk space of the type.
After a failure, the rows show the disks that exist: all old ones, the remaining ones, or none.
"""

from accounts.actors import Actor
from compute.drivers.base import Refused
from compute.jobs.data import RebuildData
from compute.jobs.definition import Again, Fail, Outcome
from compute.machine_names import disk_name
from compute.models import Config, Disk, Image, Instance, Job, StackScript
from compute.services.instances.deploy import fill_plan
from compute.services.networking.vlans import record_vlan_changes, vlans_of
from compute.services.volumes import attachments
from compute.worker.run import Run
from compute.worker.steps.basic import require_content, start_profile
from config.db.inserts import insert_together


def reboot_if_intact(run: Run[RebuildData]) -> Outcome:
    """Boot an instance that was shut down, if all its old disks are left. If it cannot boot, it stays off."""
    inspect_disks(run)
    if not _names(run) <= run.present:
        return None
    try:
        return start_profile(run, run.data.previous_config_id)
    except (Fail, Refused):
        return None


def delete_old_disks(run: Run[RebuildData]) -> Outcome:
    """Delete the first old disk that is still there; repeated until none is.

    Raises `Fail` if the image is missing or empty, and `Refused` if no password can be set in it, before any disk
    is lost.
    """
    image = Image.objects.filter(pk=run.data.image_id, status=Image.Status.AVAILABLE).first()
    if image is None:
        raise Fail("The image to rebuild from was deleted.")
    require_content(run, image)
    old = run.data.previous_disk_statuses
    there = list(Disk.objects.filter(pk__in=old).order_by("pk").values_list("pk", flat=True))
    if not there:
        return None
    run.driver.delete_disk(run.machine, disk_name(run.job.instance_id, there[0]))
    run.finished = there[0]
    return Again((len(old) - len(there) + 1) * 100 // len(old)) if len(there) > 1 else None


def replace_deleted_disk(run: Run[RebuildData]) -> None:
    """Delete the row of the disk that `delete_old_disks` deleted; after the last one, insert the new rows."""
    Disk.objects.filter(pk=run.finished).delete()  # type: ignore[misc] # the stubs know no None in lookups: no disk
    if not Disk.objects.filter(pk__in=run.data.previous_disk_statuses).exists():
        _lay_out(run)


def inspect_disks(run: Run[RebuildData]) -> None:
    """Find out which disks are left."""
    run.present = run.driver.disks(run.machine)


def restore_old_rows(run: Run[RebuildData]) -> None:
    """Restore the rows of the old disks that are left, and delete all rows of the new disks and profile."""
    if run.job.state != Job.State.UNDOING:
        return  # the new disks are complete, and only the boot was left
    names, data = _names(run), run.data
    for pk, status in run.data.previous_disk_statuses.items():
        row = Disk.objects.filter(pk=pk)
        if disk_name(run.job.instance_id, pk) in run.present:
            row.update(status=status)
        else:
            row.delete()
    Config.objects.filter(pk=data.config_id).delete()
    Disk.objects.filter(pk__in=data.disk_ids).delete()
    instance = Instance.objects.filter(pk=run.job.instance_id)  # type: ignore[misc] # as above
    was = Image.objects.filter(pk=data.previous_image_id).first()
    instance.update(image=was if not names or names & run.present else None)
    if data.stopped and names <= run.present:
        # the instance still waits for its host
        instance.filter(status=Instance.Status.OFFLINE).update(status=Instance.Status.STOPPED)


def _lay_out(run: Run[RebuildData]) -> None:
    """Replace the old profiles by the new disks, which are still to be made, and their profile.

    The new profile takes over the volumes of the old ones.
    """
    data, instance = run.data, run.instance
    actor = Actor(instance.account_id, username=run.job.created_by)
    record_vlan_changes(actor, instance, vlans_of(instance.configs.all()), set())
    volumes = attachments.volumes_in_profiles(instance)
    instance.configs.exclude(pk=data.config_id).delete()
    if instance.configs.exists():
        return  # an earlier run did it
    script = StackScript.objects.filter(pk=data.script_id).first()  # type: ignore[misc] # as above
    image = Image.objects.get(pk=data.image_id)
    _, rows = fill_plan(instance, image, script, keys=data.row_keys, network_helper=instance.account.network_helper)
    insert_together(*rows)
    attachments.fill_slots(instance.configs.get(pk=data.config_id), volumes)


def _names(run: Run[RebuildData]) -> set[str]:
    return {disk_name(run.job.instance_id, pk) for pk in run.data.previous_disk_statuses}
