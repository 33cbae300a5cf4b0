"""Jobs that are ready to run on hosts with the tiny guest, for crash tests."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from compute.models import Host, Instance, Job
from compute.services.backups.backups import enable, snapshot
from compute.services.hosts.moves import migrate
from compute.services.instances.resize import resize
from tests.compute.worker.crashes import Hosts, work
from tests.factories import HostMigrationFactory, InstanceTypeFactory
from tests.world import World

MEMORY = 192


@dataclass
class Scene:
    """A job that has not begun, the hosts it is for, and the events that it will have."""

    hosts: Hosts
    job: Job
    instance: Instance
    events: tuple[str, ...]
    """The events of the job, in order."""

    def __post_init__(self) -> None:
        self.first_event = self.job.event_id


def install_guest(guest: Store, store: Store) -> None:
    """Install the tiny guest on a host."""
    for folder in ("images", "kernels"):
        shutil.copytree(guest.root / folder, store.root / folder)
    settings.save(store, Settings(accel="tcg", patience=500.0))


def _provision(world: World, hosts: Hosts) -> Scene:
    Host.objects.exclude(pk=world.host.pk).update(enabled=False)
    instance = world.create(swap_size=128)
    return Scene(hosts, instance.jobs.get(), instance, ("compute_create", "compute_boot"))


def _deployed(world: World, hosts: Hosts) -> Instance:
    scene = _provision(world, hosts)
    work(scene.job, hosts)
    Host.objects.update(enabled=True)
    scene.instance.refresh_from_db()
    return scene.instance


def _grow(world: World, hosts: Hosts) -> Scene:
    """Grow to a type for which the host has no room, so that the instance moves."""
    instance = _deployed(world, hosts)
    Host.objects.filter(pk=instance.host_id).update(memory=MEMORY)
    plan = InstanceTypeFactory(id="g6-tiny-2", memory=MEMORY + 32, disk=1536, vcpus=2)
    job = resize(world.actor, instance, plan.pk)
    return Scene(hosts, job, instance, ("compute_resize", "compute_boot"))


def _shrink(world: World, hosts: Hosts) -> Scene:
    instance = _deployed(world, hosts)
    plan = InstanceTypeFactory(id="g6-tiny-0", memory=MEMORY - 32, disk=512, vcpus=1)
    job = resize(world.actor, instance, plan.pk)
    return Scene(hosts, job, instance, ("compute_resize", "compute_boot"))


def _backup(world: World, hosts: Hosts) -> Scene:
    instance = _deployed(world, hosts)
    enable(world.actor, instance)
    snapshot(world.actor, instance, "before")
    job = Job.objects.get(kind="snapshot")
    return Scene(hosts, job, instance, ("compute_snapshot",))


def _move(world: World, hosts: Hosts) -> Scene:
    instance = _deployed(world, hosts)
    HostMigrationFactory(instance=instance)
    job = migrate(world.actor, instance)
    return Scene(hosts, job, instance, ("compute_migrate", "compute_boot"))


SCENES: dict[str, Callable[[World, Hosts], Scene]] = {
    "provision": _provision,
    "grow": _grow,
    "shrink": _shrink,
    "backup": _backup,
    "move": _move,
}
