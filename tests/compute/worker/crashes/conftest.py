"""Hosts with the tiny guest, and a job that is about to run there."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.serving import AGENT
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from compute.models import Host, Instance, Job
from compute.services.backups.backups import enable, snapshot
from compute.services.hosts.moves import migrate
from compute.services.instances.resize import resize
from tests.compute.drivers.qemu import striking
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu.ssh_hosts import public, ssh_hosts
from tests.compute.drivers.qemu.test_guest import guest as guest
from tests.compute.worker.crashes.scene import Hosts, work
from tests.factories import HostFactory, HostMigrationFactory, ImageFactory, InstanceTypeFactory
from tests.world import World

PROGRAMS = ("qemu-system-x86_64", "mke2fs", "e2fsck", "resize2fs", "debugfs")
MEMORY = 192


@dataclass
class Scene:
    """A job that has not begun, the hosts it is for, and its events once it has ended."""

    hosts: Hosts
    job: Job
    instance: Instance
    events: tuple[str, ...]
    """Of the job, in their order."""

    def __post_init__(self) -> None:
        self.first_event = self.job.event_id


def furnish(guest: Store, store: Store) -> None:
    """Give a host the tiny guest."""
    for folder in ("images", "kernels"):
        shutil.copytree(guest.root / folder, store.root / folder)
    settings.save(store, Settings(accel="tcg", patience=500.0))


@pytest.fixture
def small(transactional_db, world: World) -> World:
    """The world, whose type is small and whose image is the tiny guest."""
    world.image = ImageFactory(id="compute/tiny", label="Tiny", size=64, is_public=True)
    world.type = InstanceTypeFactory(id="g6-tiny-1", memory=MEMORY, disk=1024, vcpus=1)
    return world


@pytest.fixture
def hosts(small: World, guest: Store, tmp_path: Path) -> Iterator[Hosts]:
    """Two hosts, each a directory here."""
    needs(*PROGRAMS)
    (tmp_path / "shared" / "volumes").mkdir(parents=True)
    for host in (small.host, HostFactory(region=small.region, label="us-test-h2")):
        host.driver, host.location, host.shared = "qemu", str(tmp_path / host.label), str(tmp_path / "shared")
        host.save(update_fields=["driver", "location", "shared"])
        furnish(guest, Store(tmp_path / host.label))
    found = Hosts(tmp_path)
    yield found
    found.end()


@pytest.fixture
def far(small: World, guest: Store, tmp_path: Path) -> Iterator[Hosts]:
    """The same, each behind an sshd, whose agents die where they are told to."""
    needs(*PROGRAMS)
    HostFactory(region=small.region, label="us-test-h2")
    with ssh_hosts(tmp_path, "us-test-h1", "us-test-h2") as servers:
        found = Hosts(tmp_path, {each.name: each for each in servers}, str(servers[0].identity))
        for host in Host.objects.all():
            server = found.servers[host.label]
            host.driver, host.location, host.shared = "qemu", server.location, str(server.shared)
            host.host_key = server.host_key
            host.save(update_fields=["driver", "location", "shared", "host_key"])
            server.administrator.bring_agent()
            server.administrator.admit(public(server.identity))
            furnish(guest, server.store)
            agent = str(server.root / AGENT)
            admitted = server.keys.read_text()
            assert f"-I {agent} answer" in admitted
            server.keys.write_text(admitted.replace(f"-I {agent} ", f"-I {striking.__file__} {agent} "))
        yield found
        found.end()


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
    """To a type for which its host has no room: it moves."""
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
