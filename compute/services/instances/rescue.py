"""Rescue: booting an instance from the platform's own system, with its disks attached for repair."""

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import RescueData
from compute.jobs.queue import enqueue
from compute.models import Config, ConfigDevice, Disk, Instance, Job
from compute.refs import config_ref
from compute.services.common.locks import is_busy, lock_any
from compute.services.hosts.maintenance import note_maintenance
from compute.services.instances.devices import DeviceMap, Devices, check_devices, write_devices
from config.errors import Busy, Problems

SLOTS = ConfigDevice.SLOTS[:-1]
ROOT = "/dev/sdh"
"""The slot reserved for the rescue system itself."""


@transaction.atomic
def rescue(
    actor: Actor, instance: Instance, devices: DeviceMap | None = None, problems: Problems | None = None
) -> Job:
    """Boot an instance in any settled status into rescue, which lasts until its next boot.

    `devices` None attaches all its disks in order, as far as there are slots; an empty map attaches none. The
    rescue has a profile of the instance, which replaces the profile of an earlier rescue when it has booted. Raises
    `Invalid` with every failing field (``devices.sda.disk_id``), `Busy` in other statuses.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    busy = is_busy(locked)
    if not busy:
        note_maintenance(locked, problems)
    chosen = _all_disks(locked) if devices is None else check_devices(actor, locked, devices, problems)
    problems.raise_any()
    if busy:
        raise Busy
    config = Config.objects.create(instance=locked, label="Rescue", root_device=ROOT, rescue=True)
    write_devices(actor, config, chosen)
    status = Instance.Status
    data = RescueData(
        config_id=config.pk,
        running=locked.status == status.RUNNING,
        # if this fails, an instance that its host's maintenance stopped still waits to be booted
        off_status=locked.status if locked.status == status.STOPPED else status.OFFLINE,
    )
    return enqueue("rescue", locked, actor, data=data, secondary=config_ref(config))


def _all_disks(instance: Instance) -> Devices:
    """Return the instance's disks in the order they were made, without those that are being deleted."""
    rows = Disk.objects.filter(instance=instance).exclude(status=Disk.Status.DELETING).order_by("pk")
    disks = rows.select_for_update(no_key=True)[: len(SLOTS)]
    return Devices(dict(zip(SLOTS, (disk.pk for disk in disks), strict=False)))
