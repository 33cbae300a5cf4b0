"""Provision, resize, backup and move on QEMU hosts, with the worker or the host killed at each step.

After every death the job ends once, hosts and rows agree, and nothing is left over.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute.drivers.qemu.agent.serving.agent_program import AGENT
from compute.drivers.qemu.agent.store import Store
from compute.models import Host
from tests.compute.drivers.qemu import striking
from tests.compute.drivers.qemu.disk_files import needs, seen
from tests.compute.drivers.qemu.ssh_hosts import public, ssh_hosts
from tests.compute.drivers.qemu.tiny_guests import tiny_guest
from tests.compute.worker.crash_scenes import MEMORY, SCENES, install_guest
from tests.compute.worker.crashes import (
    Hosts,
    Record,
    Strike,
    assert_nothing_leaked,
    assert_once,
    assert_whole,
    boot_again,
    stop,
    take_over,
    work,
    work_until_killed,
)
from tests.factories import HostFactory, ImageFactory, InstanceTypeFactory
from tests.world import World

PROGRAMS = ("qemu-system-x86_64", "mke2fs", "e2fsck", "resize2fs", "debugfs")
pytestmark = [pytest.mark.guest, pytest.mark.crash]

# Each step, with the host verbs that it calls.
POINTS = {
    "provision": ["define define", "disks create_disk", "boot start", "boot power"],
    "grow": [
        "stop stop", "disk resize_disk", "reshape power", "reshape define", "move is_whole", "move leaving",
        "move expect", "move arrived", "move read", "move write", "move finish", "move arrive", "move undefine",
        "boot start", "boot power",
    ],
    "shrink": ["stop stop", "disk resize_disk", "reshape power", "reshape define", "boot start", "boot power"],
    "backup": ["save save_disk", "save read", "save drop", "save power"],
    "move": [
        "stop stop", "move is_whole", "move leaving", "move expect", "move arrived", "move read", "move write",
        "move finish", "move arrive", "move undefine", "boot start", "boot power",
    ],
}  # fmt: skip
# A worker that grows an instance moves it in the same way as a plain move.
SAME = {("grow", point) for point in POINTS["move"] if point.startswith("move ")}
MOMENTS = [
    pytest.param(name, point, answered, id=f"{name}, {'after' if answered else 'before'} {point}")
    for name, points in POINTS.items()
    for point in points
    if (name, point) not in SAME
    for answered in (False, True)
]


@pytest.fixture(scope="module")
def guest() -> Store:
    return tiny_guest("make guest")


@pytest.fixture
def small(transactional_db, world: World) -> World:
    """The world with a small type and the tiny guest as its image."""
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
        install_guest(guest, Store(tmp_path / host.label))
    found = Hosts(tmp_path)
    yield found
    found.end()


@pytest.fixture
def far(small: World, guest: Store, tmp_path: Path) -> Iterator[Hosts]:
    """Two hosts, each behind an sshd. Their agents die at the chosen points."""
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
            install_guest(guest, server.store)
            agent = str(server.root / AGENT)
            admitted = server.keys.read_text()
            assert f"-I {agent} answer" in admitted
            server.keys.write_text(admitted.replace(f"-I {agent} ", f"-I {striking.__file__} {agent} "))
        yield found
        found.end()


@pytest.mark.parametrize("name", SCENES)
def test_these_are_all_steps(name, small, hosts, guest):
    scene = SCENES[name](small, hosts)
    hosts.reached = record = Record(scene.job)
    work(scene.job, hosts)
    assert [" ".join(each) for each in record.found] == POINTS[name]
    assert_ended_well(scene, guest)


@pytest.mark.parametrize(("name", "point", "answered"), MOMENTS)
def test_a_worker_is_killed(name, point, answered, small, hosts, guest):
    scene = SCENES[name](small, hosts)
    hosts.reached = Strike(scene.job, *point.split(), answered=answered)
    work_until_killed(scene.job, hosts)
    hosts.reached = lambda *arguments: None
    take_over(scene.job, hosts)
    assert_ended_well(scene, guest)


@pytest.mark.parametrize("name", ["grow", "move"])
def test_a_worker_is_killed_in_the_middle_of_a_copy(name, small, hosts, guest):
    scene = SCENES[name](small, hosts)
    hosts.reached = Strike(scene.job, "move", "write", answered=True, nth=2)
    work_until_killed(scene.job, hosts)
    [part] = hosts.folder.rglob("*.part")
    assert part.stat().st_blocks, "a part of it had come"
    hosts.reached = lambda *arguments: None
    take_over(scene.job, hosts)
    assert_ended_well(scene, guest)


# The deaths: what dies, at which verb, on which host (the instance's or the other one), and at which moment.
DEATHS = [
    pytest.param(name, verb, at, moment, whole, id=f"{name}, {'host' if whole else 'agent'} {moment} {verb}")
    for name, verb, at, moment, whole in [
        ("provision", "define", "home", "midst", False),
        ("provision", "define", "home", "answered", True),
        ("provision", "create_disk", "home", "midst", False),
        ("provision", "create_disk", "home", "copying", False),
        ("provision", "create_disk", "home", "copying", True),
        ("provision", "create_disk", "home", "answered", True),
        ("provision", "start", "home", "midst", False),
        ("provision", "start", "home", "answered", False),
        ("provision", "start", "home", "answered", True),
        ("shrink", "stop", "home", "midst", False),
        ("shrink", "stop", "home", "answered", True),
        ("shrink", "resize_disk", "home", "midst", False),
        ("shrink", "resize_disk", "home", "changing", False),
        ("shrink", "resize_disk", "home", "changing", True),
        ("shrink", "resize_disk", "home", "answered", True),
        ("shrink", "define", "home", "midst", False),
        ("shrink", "define", "home", "answered", True),
        ("grow", "resize_disk", "home", "changing", False),
        ("grow", "resize_disk", "home", "changing", True),
        ("backup", "save_disk", "home", "midst", False),
        ("backup", "save_disk", "home", "copying", False),
        ("backup", "save_disk", "home", "copying", True),
        ("backup", "read", "home", "answered", False),
        ("backup", "read", "home", "answered", True),
        ("backup", "drop", "home", "midst", False),
        ("backup", "drop", "home", "answered", True),
        ("move", "leaving", "home", "answered", True),
        ("move", "expect", "other", "midst", False),
        ("move", "expect", "other", "answered", True),
        ("move", "read", "home", "answered", False),
        ("move", "read", "home", "answered", True),
        ("move", "write", "other", "midst", False),
        ("move", "write", "other", "answered", False),
        ("move", "write", "other", "answered", True),
        ("move", "finish", "other", "midst", False),
        ("move", "finish", "other", "answered", True),
        ("move", "arrive", "other", "midst", False),
        ("move", "arrive", "other", "answered", True),
        ("move", "undefine", "home", "midst", False),
        ("move", "undefine", "home", "answered", True),
        ("move", "start", "other", "midst", False),
        ("move", "start", "other", "answered", True),
    ]
]


@pytest.mark.parametrize(("name", "verb", "at", "moment", "whole"), DEATHS)
def test_a_host_dies(name, verb, at, moment, whole, small, far, guest):
    scene = SCENES[name](small, far)
    home = Host.objects.get(label="us-test-h1")
    far.strike(home if at == "home" else Host.objects.exclude(pk=home.pk).get(), verb, moment, whole)
    work(scene.job, far)
    assert far.has_struck()
    if name == "backup" and whole:
        boot_again(scene.instance, far)
        # the kernel of this machine goes on, so the machines count as killed, and the host has not rebooted
        scene = replace(scene, events=(*scene.events, "lassie_reboot"))
    assert_ended_well(scene, guest)


MARKER = "/bin/busybox"


def assert_ended_well(scene, guest) -> None:
    assert_once(scene.job, scene.hosts, scene.first_event, *scene.events)
    assert_nothing_leaked(scene.hosts, scene.instance)
    stop(scene.instance, scene.hosts)
    assert_whole(scene.hosts, scene.instance, MARKER, seen(guest.image("compute/tiny"), MARKER))
