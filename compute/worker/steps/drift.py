"""The steps that repair hosts: unknown objects are set aside or deleted, and known machines are defined again."""

from compute.drivers.base import Power
from compute.jobs.data import HostObjectData, JobData
from compute.jobs.definition import Fail, Outcome
from compute.machine_names import disk_name, instance_of
from compute.models import Disk, Drift, Instance, Volume
from compute.models.volumes import volume_of
from compute.services.hosts.drift_verbs import KINDS_TO_DELETE, KINDS_TO_SET_ASIDE
from compute.worker.run import Run, until

KNOWN = "The database has this object now."


def set_aside(run: Run[HostObjectData]) -> Outcome:
    """Set the object of the drift aside. An unknown machine is stopped first.

    Raises `Fail` if a row knows the object by now, and for objects that staff may only delete.
    """
    data = run.data
    if data.kind not in KINDS_TO_SET_ASIDE:
        raise Fail("Objects of this kind cannot be quarantined.")
    driver = run.driver_at(data.host_id)
    match data.kind:
        case Drift.Kind.UNKNOWN_MACHINE:
            if Instance.objects.filter(pk=instance_of(data.name) or 0).exists():
                raise Fail(KNOWN)
            stopped = until(driver.stop(data.name))
            if stopped is not None:
                return stopped
            driver.set_aside(data.name)
        case Drift.Kind.UNKNOWN_DISK:
            disks = Disk.objects.filter(instance=instance_of(data.machine) or 0).values_list("instance_id", "pk")
            if data.name in [disk_name(*each) for each in disks]:
                raise Fail(KNOWN)
            driver.set_aside(data.machine, data.name)
        case Drift.Kind.UNKNOWN_VOLUME:
            if Volume.objects.filter(pk=volume_of(data.name) or 0).exists():
                raise Fail(KNOWN)
            driver.set_volume_aside(data.name)
        case Drift.Kind.WRONG_HOST:
            # never powered off: a customer may be using the machine, whatever the row says
            row = Instance.objects.filter(pk=instance_of(data.name) or 0).select_related("host").first()
            if row is not None:
                if row.host_id == data.host_id or _is_busy(row.pk):
                    raise Fail(KNOWN)
                whole = run.driver_at(row.host_id).inventory().machines
                if data.name not in [each.name for each in whole if each.power is not Power.ABSENT]:
                    raise Fail(
                        "The host in the database does not have the machine, so this copy is not quarantined."
                    )
            driver.set_aside(data.name)
    return None


def delete(run: Run[HostObjectData]) -> Outcome:
    """Delete the object of the drift for good.

    Raises `Fail` if a row knows the object by now, and for objects that staff must set aside first.
    """
    data = run.data
    if data.kind not in KINDS_TO_DELETE:
        raise Fail("Objects of this kind must be quarantined before they are deleted.")
    if data.kind == Drift.Kind.SHELL:
        # its instance may have come to this host, or be on its way
        pk = instance_of(data.name) or 0
        if Instance.objects.filter(pk=pk, host=data.host_id).exists() or _is_busy(pk):
            raise Fail(KNOWN)
    run.driver_at(data.host_id).discard(data.name)
    return None


def set_aside_or_delete(run: Run[HostObjectData]) -> Outcome:
    """Set the object aside or delete it, for a job of kind `tidy` of the previous release."""
    return set_aside(run) if run.data.kind in KINDS_TO_SET_ASIDE else delete(run)


def _is_busy(instance_id: int) -> bool:
    return Instance.objects.filter(pk=instance_id, jobs__finished_at=None, jobs__isnull=False).exists()


def is_booted(data: JobData) -> bool:
    """Tell whether the job boots the machine that it defines again."""
    return data.config_id is not None
