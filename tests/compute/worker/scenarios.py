"""A job of each kind in a small world, on an instance that the kind may start from.

A kind that is not in `STAGES` starts from a deployed instance with a profile, running or off.
"""

import gzip
import io
from collections.abc import Callable
from datetime import UTC, datetime

from accounts.actors import Actor
from compute.jobs.data import BootData, HostObjectData, JobData
from compute.jobs.definition import KINDS
from compute.jobs.queue import enqueue, enqueue_alone
from compute.machine_names import machine_name
from compute.models import Backup, Config, Disk, Drift, Host, Image, Instance, InstanceType, Job, Volume
from compute.services.backups.backups import cancel, enable, snapshot
from compute.services.backups.restores import restore
from compute.services.backups.schedule import take_due
from compute.services.hosts import drift_verbs
from compute.services.hosts.moves import migrate
from compute.services.images.images import begin_upload, create_from_disk, delete
from compute.services.images.uploads import receive, sign
from compute.services.instances import disks, instances, root_passwords
from compute.services.instances.clones import CloneSpec, clone
from compute.services.instances.rebuild import RebuildSpec, rebuild
from compute.services.instances.rescue import rescue
from compute.services.instances.resize import mutate, resize
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work, work_through
from tests.factories import (
    AddressPoolFactory,
    HostFactory,
    HostMigrationFactory,
    InstanceTypeFactory,
    RegionFactory,
)
from tests.world import STRONG, World

Stage = Callable[[World, MemoryDriver], Job]


def deployed(world: World, driver: MemoryDriver, *, running: bool = True, **fields) -> Instance:
    """Return an instance deployed from the image, running or off."""
    instance = world.create(private_ip=True, **fields)
    work(instance.jobs.get(), driver)
    if not running:
        work(enqueue("shutdown", instance, world.actor), driver)
    instance.refresh_from_db()
    return instance


def _provision(world: World, driver: MemoryDriver) -> Job:
    return world.create(private_ip=True).jobs.get()


def _clone(world: World, driver: MemoryDriver) -> Job:
    return clone(world.actor, deployed(world, driver), CloneSpec()).jobs.get()


def _clone_into(world: World, driver: MemoryDriver) -> Job:
    source, target = deployed(world, driver), deployed(world, driver, image=None)
    return clone(world.actor, source, CloneSpec(compute_id=target.pk)).jobs.get(finished_at=None)


def _migrate(world: World, driver: MemoryDriver) -> Job:
    Host.objects.get_or_create(label="us-test-h2", region=world.region)
    instance = deployed(world, driver)
    HostMigrationFactory(instance=instance)
    return migrate(world.actor, instance)


def _migrate_region(world: World, driver: MemoryDriver) -> Job:
    if not Host.objects.filter(region="us-other").exists():
        region = RegionFactory(id="us-other", capabilities=["Computes"])
        HostFactory(region=region)
        for kind, network in (("public", "203.0.113.0/28"), ("private", "10.9.0.0/28")):
            AddressPoolFactory(region=region, kind=kind, network=network, addresses=5)
    newer = InstanceTypeFactory(id="g7-test-2", memory=4096)
    InstanceType.objects.filter(pk=world.type.pk).update(deprecated=True, successor=newer)
    return migrate(world.actor, deployed(world, driver), "us-other", upgrade=True)


def _no_images() -> None:
    """Forget the images of an earlier world. Their archives were in its driver."""
    Image.objects.filter(number__isnull=False).delete()


def _imagize(world: World, driver: MemoryDriver) -> Job:
    _no_images()
    disk = deployed(world, driver).disks.earliest("pk")
    create_from_disk(world.actor, disk.pk, label=None, description=None)
    return Job.objects.get(kind="imagize", finished_at=None)


def _import_image(world: World, driver: MemoryDriver) -> Job:
    _no_images()
    image = begin_upload(world.actor, label="mine", description=None, region=world.region.pk)
    data = gzip.compress(b"raw")
    receive(sign(image), io.BytesIO(data), len(data))
    return Job.objects.get(kind="import_image", finished_at=None)


def _delete_image(world: World, driver: MemoryDriver) -> Job:
    work(_imagize(world, driver), driver)
    delete(world.actor, Image.objects.get(number__isnull=False))
    return Job.objects.get(kind="delete_image", finished_at=None)


def _full_host(world: World, driver: MemoryDriver) -> Instance:
    """Return a running instance whose host has no room for more. Another host has room."""
    Host.objects.update(enabled=False)
    size = {name: getattr(world.type, name) for name in ("memory", "vcpus", "disk")}
    HostFactory(region=world.region, **size)
    instance = deployed(world, driver)
    HostFactory(region=world.region)
    return instance


def _resize(world: World, driver: MemoryDriver) -> Job:
    plan = InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200, vcpus=4)
    return resize(world.actor, _full_host(world, driver), plan.pk)


def _mutate(world: World, driver: MemoryDriver) -> Job:
    instance = deployed(world, driver)
    plan = InstanceTypeFactory(id="g7-test-2", memory=4096, disk=51200, vcpus=2)
    InstanceType.objects.filter(pk=world.type.pk).update(deprecated=True, successor=plan)
    return mutate(world.actor, instance)


def with_disk(world: World, driver: MemoryDriver, size: int = 5000) -> Disk:
    """Return a disk deployed from the image. Its instance is off and has no other disk."""
    disk = disks.create(world.actor, deployed(world, driver, image=None), disk_spec(world, size=size))
    work(Job.objects.get(kind="disk_create", finished_at=None), driver)
    return Disk.objects.get(pk=disk.pk)


def disk_spec(world: World, **fields) -> disks.DiskSpec:
    """Return a client's request for a disk deployed from the image."""
    return disks.DiskSpec(**{"image": world.image.pk, "root_pass": STRONG, **fields})


def _rebuild(world: World, driver: MemoryDriver) -> Job:
    instance = deployed(world, driver)
    rebuild(world.actor, instance, RebuildSpec(image=world.image.pk, root_pass=STRONG))
    return instance.jobs.get(finished_at=None)


def _disk_create(world: World, driver: MemoryDriver) -> Job:
    return disks.create(
        world.actor, with_disk(world, driver).instance, disk_spec(world, size=3000)
    ).instance.jobs.get(finished_at=None)


def _disk_clone(world: World, driver: MemoryDriver) -> Job:
    return disks.clone(world.actor, with_disk(world, driver)).instance.jobs.get(finished_at=None)


def _disk_resize(world: World, driver: MemoryDriver) -> Job:
    return disks.resize(world.actor, with_disk(world, driver), 7000).instance.jobs.get(finished_at=None)


def _disk_delete(world: World, driver: MemoryDriver) -> Job:
    disk = with_disk(world, driver)
    disks.delete(world.actor, disk)
    return disk.instance.jobs.get(finished_at=None)


def _password_reset(world: World, driver: MemoryDriver) -> Job:
    return root_passwords.reset_on(world.actor, with_disk(world, driver), STRONG)


def _rescue(world: World, driver: MemoryDriver) -> Job:
    """A rescue of an instance that runs and was rescued before."""
    instance = deployed(world, driver)
    Config.objects.create(instance=instance, label="Rescue", rescue=True)
    return rescue(world.actor, instance)


def backed_up(world: World, driver: MemoryDriver, **fields) -> Instance:
    """Return a running instance with a snapshot."""
    instance = deployed(world, driver, **fields)
    enable(world.actor, instance)
    snapshot(world.actor, instance, "before")
    work(Job.objects.get(kind="snapshot", finished_at=None), driver)
    return instance


def _snapshot(world: World, driver: MemoryDriver) -> Job:
    """A snapshot that replaces another."""
    snapshot(world.actor, backed_up(world, driver), "again")
    return Job.objects.get(kind="snapshot", finished_at=None)


def _backup(world: World, driver: MemoryDriver) -> Job:
    instance = deployed(world, driver)
    enable(world.actor, instance)
    moment = datetime(2026, 3, 4, 5, tzinfo=UTC)
    Instance.objects.filter(pk=instance.pk).update(backups_day="Sunday", backups_window="W4")
    take_due(moment)
    return Job.objects.get(kind="backup", finished_at=None)


def _delete_backups(world: World, driver: MemoryDriver) -> Job:
    cancel(world.actor, backed_up(world, driver))
    return Job.objects.get(kind="delete_backups", event__isnull=False, finished_at=None)


def _restore(world: World, driver: MemoryDriver) -> Job:
    """A restore that replaces the disks and profiles of a running instance."""
    instance = backed_up(world, driver)
    return restore(world.actor, Backup.objects.get(instance=instance), instance.pk, overwrite=True)


def _provision_from_backup(world: World, driver: MemoryDriver) -> Job:
    backup = Backup.objects.get(instance=backed_up(world, driver))
    return world.create(image=None, root_pass=None, backup_id=backup.pk).jobs.get()


# --- volumes ------------------------------------------------------------------------------------------------------


def volume_of(world: World, driver: MemoryDriver, *, instance: Instance | None = None, **fields) -> Volume:
    """Return a volume, attached to the instance if one is given."""
    fields = {"label": "data", "region": world.region.pk, **fields}
    compute_id = None if instance is None else instance.pk
    volume = volumes.create(world.actor, volumes.VolumeSpec(**fields, compute_id=compute_id))
    work_through(volume.jobs.get(), driver)
    volume.refresh_from_db()
    return volume


def _forget_volumes() -> None:
    """Forget the volumes of an earlier world. They were in its driver."""
    Volume.objects.all().delete()
    Job.objects.filter(kind="volume_delete").delete()


def _volume_create(world: World, driver: MemoryDriver) -> Job:
    """A create of a volume attached to a running instance."""
    _forget_volumes()
    instance = deployed(world, driver)
    return volumes.create(world.actor, volumes.VolumeSpec(label="data", compute_id=instance.pk)).jobs.get()


def _volume_clone(world: World, driver: MemoryDriver) -> Job:
    """A clone of a volume that is in use."""
    _forget_volumes()
    volume = volume_of(world, driver, instance=deployed(world, driver))
    return volumes.clone(world.actor, volume, "copy").jobs.get()


def _volume_resize(world: World, driver: MemoryDriver) -> Job:
    """A resize of a volume that is in use."""
    _forget_volumes()
    volume = volume_of(world, driver, instance=deployed(world, driver))
    return volumes.resize(world.actor, volume, 30).jobs.get(finished_at=None)


def _volume_attach(world: World, driver: MemoryDriver) -> Job:
    """An attachment to a running instance."""
    _forget_volumes()
    volume, instance = volume_of(world, driver), deployed(world, driver)
    return attaching.attach(world.actor, volume, Place(compute_id=instance.pk)).jobs.get(finished_at=None)


def _volume_detach(world: World, driver: MemoryDriver) -> Job:
    """A detachment from a running instance."""
    _forget_volumes()
    return attaching.detach(world.actor, volume_of(world, driver, instance=deployed(world, driver)))


def _volume_delete(world: World, driver: MemoryDriver) -> Job:
    _forget_volumes()
    volumes.delete(world.actor, volume_of(world, driver))
    return Job.objects.get(kind="volume_delete", finished_at=None)


STAFF = Actor(account_id=0, username="staff", is_staff=True)


def _set_aside_host_object(world: World, driver: MemoryDriver) -> Job:
    """A job that sets a machine aside that no row knows."""
    name = "skerry-999999"
    driver.machines[name] = {**driver.machines[machine_name(deployed(world, driver).pk)], "plugged": {}}
    drift = Drift.objects.create(host=world.host, kind=Drift.Kind.UNKNOWN_MACHINE, name=name, seen=2)
    return drift_verbs.set_aside(STAFF, drift)


def _delete_host_object(world: World, driver: MemoryDriver) -> Job:
    """A deletion of a machine that was set aside."""
    name = "aside/skerry-999999"
    driver.aside[name] = (str(world.host.uuid), {})
    drift = Drift.objects.create(host=world.host, kind=Drift.Kind.SET_ASIDE, name=name, seen=2)
    return drift_verbs.discard(STAFF, drift)


def _tidy_of_earlier_release(world: World, driver: MemoryDriver) -> Job:
    """The same deletion, as the previous release enqueues it."""
    name = "aside/skerry-999999"
    driver.aside[name] = (str(world.host.uuid), {})
    data = HostObjectData(host_id=world.host.pk, kind=Drift.Kind.SET_ASIDE, name=name)
    return enqueue_alone("tidy", STAFF, None, data)


def _redefine(world: World, driver: MemoryDriver) -> Job:
    """A new definition of a machine that is on and has the size of another type."""
    instance = deployed(world, driver)
    drift = Drift.objects.create(
        host=instance.host, kind=Drift.Kind.WRONG_SIZE, name=machine_name(instance.pk), instance=instance, seen=2
    )
    return drift_verbs.define_again(STAFF, drift)


WITHOUT_EVENT = {"set_aside_host_object", "delete_host_object", "tidy"}
"""The kinds whose jobs belong to no account."""


def _delete(world: World, driver: MemoryDriver) -> Job:
    job = instances.delete(world.actor, deployed(world, driver))
    assert job is not None
    return job


STAGES: dict[str, Stage] = {
    "delete": _delete,
    "redefine": _redefine,
    "set_aside_host_object": _set_aside_host_object,
    "delete_host_object": _delete_host_object,
    "tidy": _tidy_of_earlier_release,
    "volume_create": _volume_create,
    "volume_clone": _volume_clone,
    "volume_resize": _volume_resize,
    "volume_attach": _volume_attach,
    "volume_detach": _volume_detach,
    "volume_delete": _volume_delete,
    "snapshot": _snapshot,
    "backup": _backup,
    "delete_backups": _delete_backups,
    "restore": _restore,
    "provision_from_backup": _provision_from_backup,
    "rescue": _rescue,
    "rebuild": _rebuild,
    "disk_create": _disk_create,
    "disk_clone": _disk_clone,
    "disk_resize": _disk_resize,
    "disk_delete": _disk_delete,
    "password_reset": _password_reset,
    "imagize": _imagize,
    "import_image": _import_image,
    "delete_image": _delete_image,
    "provision": _provision,
    "resize": _resize,
    "mutate": _mutate,
    "clone": _clone,
    "clone_into": _clone_into,
    "migrate": _migrate,
    "migrate_region": _migrate_region,
}


def staged(kind: str, world: World, driver: MemoryDriver) -> Job:
    """Create a job of this kind, at its first step."""
    if kind in STAGES:
        return STAGES[kind](world, driver)
    carries = KINDS[kind].data
    assert carries in (JobData, BootData), (
        f"{kind} carries {carries.__name__}: add a stage to STAGES in tests/compute/worker/scenarios.py"
    )
    instance = deployed(world, driver, running="running" in KINDS[kind].starts_from)
    data = BootData(config_id=instance.configs.get().pk) if carries is BootData else None
    return enqueue(kind, instance, world.actor, data=data)
