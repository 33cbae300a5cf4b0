"""The steps of a rebuild: off, the old disks deleted, new ones made, and on again.

The new rows come to be when the last old disk is gone, so that the disks never take more than the type has.
Whatever fails, what is there in the end is shown: all of the old, what is left of it, or nothing.
"""

from accounts.actors import Actor
from compute.drivers.base import Refused
from compute.jobs.definition import Again, Fail, Outcome
from compute.machine_names import disk_name
from compute.models import Config, Disk, Image, Instance, Job, StackScript
from compute.services.instances.deploy import Deploy, fill_plan
from compute.services.networking.vlans import record_vlan_changes, vlans_of
from compute.services.stackscripts.stackscripts import Deployment
from compute.services.volumes import attachments
from compute.worker.run import Run
from compute.worker.steps.basic import start_profile
from config.db.inserts import insert_together


def reboot_if_intact(run: Run) -> Outcome:
    """Boot what was shut down, where all it had is still there. What cannot boot any more stays off."""
    inspect_disks(run)
    if not _names(run) <= run.present:
        return None
    try:
        return start_profile(run, run.data["booted"])
    except (Fail, Refused):
        return None


def delete_old_disks(run: Run) -> Outcome:
    """Delete the first of the old disks that is still there; again, until none is."""
    if not Image.objects.filter(pk=run.data["image"], status=Image.Status.AVAILABLE).exists():
        raise Fail("The image to rebuild from was deleted.")
    old = _old(run)
    there = list(Disk.objects.filter(pk__in=old).order_by("pk").values_list("pk", flat=True))
    if not there:
        return None
    run.driver.delete_disk(run.machine, disk_name(run.job.instance_id, there[0]))
    run.finished = there[0]
    return Again((len(old) - len(there) + 1) * 100 // len(old)) if len(there) > 1 else None


def replace_deleted_disk(run: Run) -> None:
    """Delete the row of the disk that `delete_old_disks` deleted; after the last one, insert the new rows."""
    Disk.objects.filter(pk=run.finished).delete()  # type: ignore[misc] # the stubs know no None in lookups: no disk
    if not Disk.objects.filter(pk__in=_old(run)).exists():
        _lay_out(run)


def inspect_disks(run: Run) -> None:
    """See which disks are left."""
    run.present = run.driver.disks(run.machine)


def restore_old_rows(run: Run) -> None:
    """Show what there is of the old after all, and nothing of the new."""
    if run.job.state != Job.State.UNDOING:
        return  # the new is complete, and only its boot was left
    names, data = _names(run), run.data
    for pk, status in _old(run).items():
        row = Disk.objects.filter(pk=pk)
        if disk_name(run.job.instance_id, pk) in run.present:
            row.update(status=status)
        else:
            row.delete()
    Config.objects.filter(pk=data["config"]).delete()
    Disk.objects.filter(pk__in=data["disks"]).delete()
    instance = Instance.objects.filter(pk=run.job.instance_id)  # type: ignore[misc] # as above
    was = Image.objects.filter(pk=data["image_was"]).first()
    instance.update(image=was if not names or names & run.present else None)
    if data["stopped"] and names <= run.present:
        # it goes on waiting for its host
        instance.filter(status=Instance.Status.OFFLINE).update(status=Instance.Status.STOPPED)


def _lay_out(run: Run) -> None:
    """Put the new disks, which are still to be made, and their profile in place of the old profiles.

    The volumes that those named are in the new one.
    """
    data, instance = run.data, run.instance
    actor = Actor(instance.account_id, username=run.job.created_by)
    record_vlan_changes(actor, instance, vlans_of(instance.configs.all()), set())
    volumes = attachments.volumes_in_profiles(instance)
    instance.configs.exclude(pk=data["config"]).delete()
    if instance.configs.exists():
        return  # it was done before
    script = StackScript.objects.filter(pk=data["script"]).first()
    image = Image.objects.get(pk=data["image"])
    deploy = Deploy(image, Deployment(script, "") if script else None, {})
    _, rows = fill_plan(instance, deploy, keys=data["keys"], network_helper=instance.account.network_helper)
    insert_together(*rows)
    attachments.fill_slots(instance.configs.get(pk=data["config"]), volumes)


def _old(run: Run) -> dict[int, str]:
    """The disks there were, each with the status it had."""
    return {int(pk): status for pk, status in run.data["old"].items()}


def _names(run: Run) -> set[str]:
    return {disk_name(run.job.instance_id, pk) for pk in _old(run)}
