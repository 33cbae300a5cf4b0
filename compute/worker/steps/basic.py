"""The steps that several kinds share: those of the machine, its disks and its power."""

import json
from collections.abc import Callable
from functools import partial

from django.db import connection
from django.db.models import QuerySet

from compute.drivers.base import BootSpec, DiskSpec, FirewallSpec, MachineSpec
from compute.jobs.data import JobData
from compute.jobs.definition import Fail, Outcome
from compute.machine_names import disk_name
from compute.models import Disk
from compute.models.volumes import volume_name
from compute.services.firewalls import delivery
from compute.services.networking.addresses import mac_address
from compute.services.removal import remove
from compute.worker.run import Run, until
from compute.worker.steps.one_by_one import one_by_one


def define(run: Run[JobData]) -> None:
    """Make the machine known to its host, off and without disks."""
    instance = run.instance
    run.driver.define(
        MachineSpec(
            name=run.machine,
            host=str(instance.host.uuid),
            memory=instance.type.memory,
            vcpus=instance.type.vcpus,
            mac=mac_address(instance.pk),
        )
    )


def undefine(run: Run[JobData]) -> None:
    """Remove the machine from its host, with its disks."""
    run.driver.undefine(run.machine)


def create_disks(run: Run[JobData]) -> Outcome:
    """Make the first disk of the instance that is not there yet; repeated until all are."""
    return create_next_disk(run, run.instance.disks.select_related("image"), partial(disk_spec, run))


def create_next_disk(run: Run[JobData], wanted: QuerySet[Disk], spec: Callable[[Disk], DiskSpec]) -> Outcome:
    """Make the first of the `wanted` disks that is not there yet, by its `spec`; repeated until all are."""
    disks = {disk.pk: disk for disk in wanted.order_by("pk")}
    left = [pk for pk, disk in disks.items() if disk.status == Disk.Status.NOT_READY]
    return one_by_one(run, left, len(disks), lambda pk: run.driver.create_disk(run.machine, spec(disks[pk])))


def mark_disk_ready(run: Run[JobData]) -> None:
    """Mark the disk that `create_next_disk` finished as ready."""
    made = Disk.objects.filter(pk=run.finished)  # type: ignore[misc] # the stubs know no None in lookups: no disk
    made.update(status=Disk.Status.READY)


def delete_disks(run: Run[JobData]) -> None:
    """Delete the disks that the job made or began to make."""
    for pk in run.instance.disks.values_list("pk", flat=True):
        run.driver.delete_disk(run.machine, disk_name(run.instance.pk, pk))


def start(run: Run[JobData]) -> Outcome:
    """Boot the profile that was chosen when the job was enqueued."""
    return start_profile(run, run.data.config_id)


def start_profile(run: Run[JobData], config_id: int | None) -> Outcome:
    """Boot the profile with `config_id`. Raises `Fail` where the instance does not have it."""
    return until(run.driver.start(run.machine, _boot_spec(run, config_id)))


def stop(run: Run[JobData]) -> Outcome:
    """Shut the guest down, or cut its power if it does not respond."""
    return until(run.driver.stop(run.machine))


def remove_instance(run: Run[JobData]) -> None:
    """Delete the instance's rows and release its addresses and reservations."""
    remove(run.instance)


def disk_spec(run: Run[JobData], disk: Disk) -> DiskSpec:
    """The spec of the disk to make, empty or from its image, with the job's secrets for the image."""
    name = disk_name(run.instance.pk, disk.pk)
    if disk.image is None:
        return DiskSpec(name, disk.size, disk.filesystem)
    secrets = run.secrets()
    return DiskSpec(
        name,
        disk.size,
        disk.filesystem,
        image=disk.image.source,
        root_password=secrets.get("root_pass"),
        authorized_keys=tuple(secrets.get("authorized_keys", ())),
        script=secrets.get("script"),
    )


_PROFILE = """
SELECT c.kernel_id, c.root_device, c.run_level, c.virt_mode, c.memory_limit, c.helpers, c.interfaces, c.rescue,
       i.ipv4, i.ipv6, t.memory,
       ARRAY(SELECT d.slot FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       ARRAY(SELECT d.disk_id FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       (SELECT jsonb_agg(jsonb_build_array(d.slot, v.id, v.label, v.instance_id = i.id) ORDER BY d.slot)
          FROM compute_volumedevice d JOIN compute_volume v ON v.id = d.volume_id WHERE d.config_id = c.id)
  FROM compute_config c
  JOIN compute_instance i ON i.id = c.instance_id
  JOIN compute_instancetype t ON t.id = i.type_id
 WHERE c.id = %s AND c.instance_id = %s
"""


def _boot_spec(run: Run[JobData], config_id: int | None) -> BootSpec:
    """The boot spec of the profile, which is read in one statement.

    Raises `Fail` when the profile was deleted meanwhile, or names a volume that is not attached to the instance.
    """
    instance_id = run.job.instance_id
    with connection.cursor() as cursor:
        cursor.execute(_PROFILE, [config_id, instance_id])
        row = cursor.fetchone()
    if row is None:
        raise Fail("The configuration profile to boot was deleted.")
    kernel, root_device, run_level, virt_mode, limit, helpers, interfaces, rescue, *rest = row
    ipv4, ipv6, memory, slots, disks, volumes = rest
    devices = {slot: disk_name(instance_id, disk) for slot, disk in zip(slots, disks, strict=True)}
    labels = {}
    for slot, volume, label, here in json.loads(volumes or "[]"):
        if not here:
            raise Fail(f"The volume {label} in {slot} is not attached to the compute.")
        devices[slot] = volume_name(volume)
        labels[devices[slot]] = label
    firewall = delivery.read(instance_id, run.machine)
    return BootSpec(
        kernel=kernel,
        root_device=root_device,
        run_level=run_level,
        virt_mode=virt_mode,
        memory=min(limit or memory, memory),
        devices=devices,
        volumes=labels,
        ipv4=tuple(ipv4),
        ipv6=ipv6,
        helpers=json.loads(helpers),
        interfaces=tuple(json.loads(interfaces)),
        rescue=rescue,
        firewall=None if firewall is None else FirewallSpec(*firewall),
    )
