"""The steps that several kinds share, for the machine, its disks and its power."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from compute.drivers.base import BootSpec, DiskSpec, Driver, MachineSpec
from compute.jobs.data import JobData
from compute.jobs.definition import Fail, Outcome, Wait
from compute.machine_names import disk_name
from compute.models import Disk, Image
from compute.models.volumes import volume_name
from compute.services.networking.addresses import mac_address
from compute.services.networking.firewalls import delivery
from compute.services.removal import remove
from compute.worker.networking.firewall_specs import firewall_spec
from compute.worker.run import Run, until
from compute.worker.steps.one_by_one import one_by_one
from config import word

NOT_ATTACHED = word.sentence("The volume {label} in {slot} is not attached to the compute.")
VOLUME_SECONDS = 1.0
"""Seconds after which a boot checks again whether its volumes are there."""


def define(run: Run[JobData]) -> None:
    """Make the machine known to its host, off and without disks."""
    instance = run.instance
    run.driver.define(
        MachineSpec(
            name=run.machine,
            memory=instance.type.memory,
            vcpus=instance.type.vcpus,
            mac=mac_address(instance.pk),
        )
    )


def undefine(run: Run[JobData]) -> None:
    """Remove the machine from its host, with its disks."""
    run.driver.undefine(run.machine)


def create_disks(run: Run[JobData]) -> Outcome:
    """Make the first missing disk of the instance; repeated until all are there."""
    return create_next_disk(run, run.instance.disks.select_related("image"), partial(disk_spec, run))


def create_next_disk(
    run: Run[JobData], wanted: QuerySet[Disk], spec: Callable[[Disk], DiskSpec], source: Driver | None = None
) -> Outcome:
    """Make the first missing disk of the `wanted` ones, by its `spec`; repeated until all are there.

    `source` is the driver of the host whose disks are copied.
    """
    disks = {disk.pk: disk for disk in wanted.order_by("pk")}
    left = [pk for pk, disk in disks.items() if disk.status == Disk.Status.NOT_READY]
    return one_by_one(
        run, left, len(disks), lambda pk: run.driver.create_disk(run.machine, spec(disks[pk]), source)
    )


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
    """Boot the profile with `config_id`, once its volumes are there. Raises `Fail` if the instance lacks it."""
    spec = _boot_spec(run, config_id)
    return Wait(VOLUME_SECONDS) if spec is None else until(run.driver.start(run.machine, spec))


def stop(run: Run[JobData]) -> Outcome:
    """Shut the guest down, or cut its power if it does not respond."""
    return until(run.driver.stop(run.machine))


def remove_instance(run: Run[JobData]) -> None:
    """Delete the instance's rows and release its addresses and reservations."""
    remove(run.instance)


def require_content(run: Run[JobData], image: Image) -> None:
    """Raise `Fail` for an image that was made of an empty file, and `Refused` for one in which no password can be
    set, such as a disk with partitions. The hypervisor checks official images."""
    if image.number is None:
        return
    if not image.size:
        raise Fail("The image is empty: there is nothing to deploy.")
    run.archives(image.driver).check_system(image.source)


def disk_spec(run: Run[JobData], disk: Disk) -> DiskSpec:
    """The spec of the disk to make, empty or from its image, with the job's secrets for the image."""
    name = disk_name(run.instance.pk, disk.pk)
    if disk.image is None:
        return DiskSpec(name, disk.size, disk.filesystem)
    require_content(run, disk.image)
    secrets = run.secrets()
    return DiskSpec(
        name,
        disk.size,
        disk.filesystem,
        image=disk.image.source,
        root_password=secrets.get("root_pass"),
        authorized_keys=tuple(secrets.get("authorized_keys", ())),
        hostname=run.instance.label,
        script=secrets.get("script"),
    )


_PROFILE = """
SELECT c.kernel_id, c.root_device, c.run_level, c.virt_mode, c.memory_limit, c.helpers, c.interfaces, c.rescue,
       i.ipv4, i.ipv6, t.memory, t.network_out,
       ARRAY(SELECT d.slot FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       ARRAY(SELECT d.disk_id FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       (SELECT jsonb_agg(jsonb_build_array(
                   d.slot, v.id, v.label, v.instance_id = i.id,
                   v.status <> 'creating' AND NOT EXISTS (
                       SELECT FROM compute_job j
                        WHERE j.volume_id = v.id AND j.kind = 'volume_detach' AND j.finished_at IS NULL)
               ) ORDER BY d.slot)
          FROM compute_volumedevice d JOIN compute_volume v ON v.id = d.volume_id WHERE d.config_id = c.id),
       (SELECT jsonb_object_agg(n.label, n.id)
          FROM compute_vlan n WHERE n.account_id = i.account_id AND n.region_id = i.region_id),
       ARRAY(SELECT host(r.range) || '/' || r.prefix
               FROM compute_ipv6range r WHERE r.instance_id = i.id AND r.kind = 'range' ORDER BY r.range),
       g.resolvers_ipv4 || ',' || g.resolvers_ipv6
  FROM compute_config c
  JOIN compute_instance i ON i.id = c.instance_id
  JOIN compute_instancetype t ON t.id = i.type_id
  JOIN regions_region g ON g.id = i.region_id
 WHERE c.id = %s AND c.instance_id = %s
"""


def _boot_spec(run: Run[JobData], config_id: int | None) -> BootSpec | None:
    """The boot spec of the profile, which is read in one statement.

    None while a volume of the profile is being made, or detached from another instance. Raises `Fail` when the
    profile was deleted meanwhile, or names a volume that is not attached to the instance.
    """
    instance_id = run.job.instance_id
    with connection.cursor() as cursor:
        cursor.execute(_PROFILE, [config_id, instance_id])
        row = cursor.fetchone()
    if row is None:
        raise Fail("The configuration profile to boot was deleted.")
    kernel, root_device, run_level, virt_mode, limit, helpers, interfaces, rescue, *rest = row
    ipv4, ipv6, memory, network_out, slots, disks, volumes, vlans, ranges, resolvers = rest
    devices = {slot: disk_name(instance_id, disk) for slot, disk in zip(slots, disks, strict=True)}
    labels = {}
    for slot, volume, label, here, ready in json.loads(volumes or "[]"):
        if not here:
            raise Fail(NOT_ATTACHED.format(label=label, slot=slot))
        if not ready:
            return None
        devices[slot] = volume_name(volume)
        labels[devices[slot]] = label
    firewall = delivery.read(instance_id)
    return BootSpec(
        kernel=kernel,
        root_device=root_device,
        run_level=run_level,
        virt_mode=virt_mode,
        memory=min(limit or memory, memory),
        devices=devices,
        volumes=labels,
        ipv4=tuple(ipv4),
        ipv6=ipv6 and ipv6.partition("/")[0],
        helpers=json.loads(helpers),
        interfaces=tuple(_numbered(json.loads(interfaces), json.loads(vlans or "{}"))),
        ranges=tuple(ranges),
        resolvers=tuple(filter(None, map(str.strip, resolvers.split(",")))),
        network_out=network_out,
        rescue=rescue,
        firewall=None if firewall is None else firewall_spec(firewall),
    )


def _numbered(interfaces: list[dict[str, Any]], vlans: dict[str, int]) -> list[dict[str, Any]]:
    """The interfaces of a profile, those in VLANs with the VLANs' numbers."""
    for each in interfaces:
        if each["purpose"] == "vlan":
            each["number"] = vlans.get(each["label"])
    return interfaces
