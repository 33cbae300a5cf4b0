"""Invariants of instances, disks and volumes before and after every job: nothing leaked, nothing half-made."""

from django.db.models import Sum

from accounts.models import Event, Grant
from compute.drivers.base import Power
from compute.machine_names import disk_name, machine_name
from compute.models import Address, Backup, Config, Disk, Drift, Host, Image, Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.images import files
from tests.compute.memory_driver import MemoryDriver

TRUE_STATUS = {Power.ON: ("running",), Power.OFF: ("offline", "stopped")}


def assert_sound(job: Job, driver: MemoryDriver, instance_id: int | None) -> None:
    """Check that nothing is leaked or half-made, and that each status agrees with the driver."""
    assert job.encrypted is None
    assert not Event.objects.filter(status__in=["scheduled", "started"]).exists()
    assert archives_kept() <= driver.archives.keys() <= archives_kept() | archives_going()
    assert not files.numbers()
    assert_volumes_sound(driver)
    known = {machine_name(pk) for pk in Instance.objects.values_list("pk", flat=True)}
    assert driver.machines.keys() - unknown_machines() == known
    for host in Host.objects.all():
        reserved = host.reservations.aggregate(memory=Sum("memory"), vcpus=Sum("vcpus"), disk=Sum("disk"))
        used = {"memory": host.memory_used, "vcpus": host.vcpus_used, "disk": host.disk_used}
        assert used == {name: value or 0 for name, value in reserved.items()}
    for instance in Instance.objects.all():
        assert_instance_sound(instance, driver)
    if instance_id is not None and not Instance.objects.filter(pk=instance_id).exists():
        assert not Address.objects.filter(instance_id=instance_id).exists()
        assert not Disk.objects.filter(instance_id=instance_id).exists()
        assert not Config.objects.filter(instance_id=instance_id).exists()
        assert not Grant.objects.filter(entity_type="compute", entity_id=instance_id).exists()


def assert_instance_sound(instance: Instance, driver: MemoryDriver) -> None:
    machine = machine_name(instance.pk)
    addresses = Address.objects.filter(instance=instance)
    assert instance.status in TRUE_STATUS[driver.power(machine)]
    assert driver.machines[machine]["host"] == str(instance.host.uuid)
    assert sorted(addresses.values_list("address", flat=True)) == sorted(instance.ipv4)
    assert driver.disks(machine) == {
        disk_name(instance.pk, pk) for pk in instance.disks.values_list("pk", flat=True)
    }
    assert not instance.disks.exclude(status="ready").exists()
    for disk in instance.disks.all():
        assert driver.machines[machine]["disks"][disk_name(instance.pk, disk.pk)].size == disk.size
    assert sum(instance.disks.values_list("size", flat=True)) <= instance.type.disk


def assert_volumes_sound(driver: MemoryDriver) -> None:
    """Check that each volume exists in its size, and is plugged into the machine of its instance or into none."""
    volumes = list(Volume.objects.all())
    there = {name: spec.size for name, spec in driver.volumes.items() if name not in volumes_going()}
    assert there == {volume_name(volume.pk): volume.size for volume in volumes}
    assert {volume.status for volume in volumes} <= {Volume.Status.ACTIVE}
    assert_volumes_in_place(driver)


def assert_volumes_in_place(driver: MemoryDriver) -> None:
    """Check that each volume of a profile or machine belongs to its instance. This holds during jobs too.

    A machine may still have a volume that a job is about to detach.
    """
    for device in VolumeDevice.objects.select_related("volume", "config"):
        assert device.volume.instance_id == device.config.instance_id
    fitting = {(volume.instance_id, volume.pk) for volume in Volume.objects.all()} | volumes_leaving()
    fitting_names = {(machine_name(instance), volume_name(volume)) for instance, volume in fitting if instance}
    for name in driver.machines:
        for plugged in driver.plugged(name):
            assert (name, plugged) in fitting_names


def volumes_leaving() -> set[tuple[int | None, int]]:
    """Return pairs of instance and volume that jobs are about to detach, also from deleted instances."""
    jobs = Job.objects.filter(finished_at=None)
    detached = jobs.filter(kind="volume_detach").values_list("instance_id", "data__volume")
    kinds = ("volume_detach", "volume_delete")
    return {*detached, *jobs.filter(kind__in=kinds).values_list("data__instance", "data__volume")}


def volumes_going() -> set[str]:
    """Return the volumes that jobs are about to delete."""
    jobs = Job.objects.filter(kind="volume_delete", finished_at=None)
    return {volume_name(pk) for pk in jobs.values_list("data__volume", flat=True)}


def unknown_machines() -> set[str]:
    """Return the machines that are recorded as drift because no row knows them."""
    return set(Drift.objects.filter(kind=Drift.Kind.UNKNOWN_MACHINE).values_list("name", flat=True))


def archives_kept() -> set[str]:
    """Return the archives that our tables name: the account's images, and the disks of finished backups."""
    images = Image.objects.filter(number__isnull=False, status="available")
    backups = Backup.objects.filter(status="successful")
    return {f"skerry-image-{number}" for number in images.values_list("number", flat=True)} | {
        disk["archive"] for disks in backups.values_list("disks", flat=True) for disk in disks if disk["archive"]
    }


def archives_going() -> set[str]:
    """Return the archives of backups that jobs are about to delete."""
    jobs = Job.objects.filter(kind="delete_backups", finished_at=None)
    return {archive for data in jobs.values_list("data", flat=True) for archive in data["archives"]}
