"""Invariants under random load: a few instances, many random actions, a failing hypervisor, and workers that
die.

The actions and their arguments are drawn from existing objects, and sometimes from missing ones. Some actions
are refused, some succeed, and some fail half-way. None may break the invariants, and in the end every job and
event has finished.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db.models import Count
from django.db.models.functions import Now

from accounts.models import Event, User
from compute.drivers.base import DriverError, Refused
from compute.models import VLAN, Backup, Config, Disk, Host, Image, Instance, InstanceType, Job, Volume
from compute.models.volumes import volume_name
from compute.services.common.disk_space import taken
from compute.services.networking.vlans import vlans_of
from compute.worker import engine
from regions.models import Region
from tests.client import APIClient
from tests.compute.memory_driver import MemoryDriver, WorkerDied
from tests.compute.worker.soundness import archives_going, assert_sound, assert_volumes_in_place, volumes_going
from tests.factories import token_of
from tests.world import STRONG, World

pytestmark = [pytest.mark.django_db, pytest.mark.generated]

ACTIONS_EACH = 170
INSTANCES = 5
VOLUMES = 6
GARBAGE = (0, -1, 2**31, 10**12)
Call = tuple[str, str, dict[str, Any] | None]


class Chaos:
    """A source of random actions, which also decides whether a call of the hypervisor fails."""

    def __init__(self, seed: int, world: World, driver: MemoryDriver, names: list[str]):
        self.names = names
        self.rng = random.Random(seed)
        self.world = world
        self.faults = 0.12
        driver.before = driver.after = self.strike

    def strike(self, number: int, name: str) -> None:
        if self.rng.random() < self.faults:
            raise self.rng.choice(
                (DriverError("The host does not answer."), Refused("Not possible."), WorkerDied())
            )

    def pick(self, ids: list[Any]) -> Any:
        """Return one of these ids, or sometimes an id that does not exist."""
        if not ids or self.rng.random() < 0.08:
            return self.rng.choice(GARBAGE)
        return self.rng.choice(ids)

    def instance(self) -> Any:
        return self.pick(list(Instance.objects.values_list("pk", flat=True)))

    def flip(self) -> bool:
        return self.rng.random() < 0.5

    def action(self) -> tuple[str, Call]:
        name = self.rng.choice(self.names)
        if Instance.objects.count() < 2:
            name = "create"
        return name, ACTIONS[name](self)


def at(chaos: Chaos, rest: str, body: dict[str, Any] | None = None, method: str = "post") -> Call:
    return method, f"/v4/compute/instances/{chaos.instance()}{rest}", {} if body is None else body


def create(chaos: Chaos) -> Call:
    if Instance.objects.count() >= INSTANCES:
        return at(chaos, "", method="delete")
    body: dict[str, Any] = {"region": chaos.rng.choice(["us-test", "us-other"]), "type": a_type(chaos)}
    if chaos.rng.random() < 0.75:
        body |= {"image": chaos.world.image.pk, "root_pass": STRONG, "booted": chaos.flip()}
    body |= {"private_ip": chaos.flip(), "backups_enabled": chaos.flip()}
    return "post", "/v4/compute/instances", body


def a_type(chaos: Chaos) -> str:
    return chaos.rng.choice([*InstanceType.objects.values_list("pk", flat=True), "no-such-type"])


def clone(chaos: Chaos) -> Call:
    if Instance.objects.count() >= INSTANCES:
        return at(chaos, "/clone", {"compute_id": chaos.instance()})
    return at(chaos, "/clone", {"region": "us-test", "type": a_type(chaos)})


def imagize(chaos: Chaos) -> Call:
    disks = list(Disk.objects.values_list("pk", flat=True))
    return "post", "/v4/images", {"disk_id": chaos.pick(disks), "label": "captured"}


def delete_image(chaos: Chaos) -> Call:
    images = list(Image.objects.filter(is_public=False).values_list("pk", flat=True))
    return "delete", f"/v4/images/{chaos.pick(images)}", {}


def at_disk(chaos: Chaos, rest: str = "", body: dict[str, Any] | None = None, method: str = "post") -> Call:
    """Return a call for a disk, under its instance or sometimes under another one."""
    disks = dict(Disk.objects.values_list("pk", "instance"))
    disk = chaos.pick(list(disks))
    instance = disks.get(disk) if chaos.rng.random() < 0.95 else chaos.instance()
    return method, f"/v4/compute/instances/{instance or 0}/disks/{disk}{rest}", {} if body is None else body


def a_size(chaos: Chaos) -> int:
    return chaos.rng.choice([0, 7, 500, 9000, 20000, 25600, 60000])


def disk_create(chaos: Chaos) -> Call:
    body: dict[str, Any] = {"size": a_size(chaos)}
    if chaos.rng.random() < 0.75:
        body |= {"image": chaos.world.image.pk, "root_pass": STRONG}
    return at(chaos, "/disks", body)


def rebuild(chaos: Chaos) -> Call:
    return at(chaos, "/rebuild", {"image": chaos.world.image.pk, "root_pass": STRONG, "booted": chaos.flip()})


def restore(chaos: Chaos) -> Call:
    backups = dict(Backup.objects.values_list("pk", "instance"))
    backup = chaos.pick(list(backups))
    path = f"/v4/compute/instances/{backups.get(backup, backup)}/backups/{backup}/restore"
    return "post", path, {"compute_id": chaos.instance(), "overwrite": chaos.flip()}


def create_from_backup(chaos: Chaos) -> Call:
    if Instance.objects.count() >= INSTANCES:
        return restore(chaos)
    backup = chaos.pick(list(Backup.objects.values_list("pk", flat=True)))
    body = {"region": "us-test", "type": a_type(chaos), "backup_id": backup, "backups_enabled": chaos.flip()}
    return "post", "/v4/compute/instances", body


def drop_address(chaos: Chaos) -> Call:
    instance = chaos.instance()
    addresses = Instance.objects.filter(pk=instance).values_list("ipv4", flat=True).first()
    return "delete", f"/v4/compute/instances/{instance}/ips/{chaos.rng.choice(addresses or ['198.18.0.250'])}", {}


def config_create(chaos: Chaos) -> Call:
    instance = chaos.instance()
    vlan = {"purpose": "vlan", "label": f"vlan-{chaos.rng.randrange(3)}"}
    interfaces = [vlan] if chaos.flip() else []
    body = {"label": "made", "devices": {"sda": a_disk(chaos, instance)}, "interfaces": interfaces}
    return "post", f"/v4/compute/instances/{instance}/configs", body


def volume_create(chaos: Chaos) -> Call:
    if Volume.objects.count() >= VOLUMES:
        return at_volume(chaos, method="delete")
    body: dict[str, Any] = {"label": f"made-{chaos.rng.randrange(10**9)}"}
    body |= (
        {"compute_id": chaos.instance()} if chaos.flip() else {"region": chaos.rng.choice(["us-test", "us-other"])}
    )
    return "post", "/v4/volumes", body


def at_volume(chaos: Chaos, rest: str = "", body: dict[str, Any] | None = None, method: str = "post") -> Call:
    volume = chaos.pick(list(Volume.objects.values_list("pk", flat=True)))
    return method, f"/v4/volumes/{volume}{rest}", {} if body is None else body


def volume_attach(chaos: Chaos) -> Call:
    return at_volume(chaos, "/attach", {"compute_id": chaos.instance(), "persist_across_boots": chaos.flip()})


def volume_name_in_profile(chaos: Chaos) -> Call:
    """Add a volume to a profile, next to a disk."""
    configs = dict(Config.objects.values_list("pk", "instance"))
    config = chaos.pick(list(configs))
    instance = configs.get(config, 0)
    volume = chaos.pick(list(Volume.objects.values_list("pk", flat=True)))
    devices = {"sda": a_disk(chaos, instance), "sdb": {"volume_id": volume}}
    return "put", f"/v4/compute/instances/{instance}/configs/{config}", {"devices": devices}


def config_delete(chaos: Chaos) -> Call:
    instance = chaos.instance()
    config = chaos.pick(list(Config.objects.filter(instance=instance).values_list("pk", flat=True)))
    return "delete", f"/v4/compute/instances/{instance}/configs/{config}", {}


def rescue(chaos: Chaos) -> Call:
    instance = chaos.instance()
    body = {"devices": {"sda": a_disk(chaos, instance)}} if chaos.flip() else {}
    return "post", f"/v4/compute/instances/{instance}/rescue", body


def a_disk(chaos: Chaos, instance: Any) -> dict[str, Any]:
    """Return a disk of the instance, as a device."""
    return {"disk_id": chaos.pick(list(Disk.objects.filter(instance=instance).values_list("pk", flat=True)))}


ACTIONS: dict[str, Callable[[Chaos], Call]] = {
    "create": create,
    "delete": lambda chaos: at(chaos, "", method="delete"),
    "rename": lambda chaos: at(chaos, "", {"label": f"i{chaos.rng.randrange(4)}xx"}, "put"),
    "boot": lambda chaos: at(chaos, "/boot"),
    "reboot": lambda chaos: at(chaos, "/reboot"),
    "shutdown": lambda chaos: at(chaos, "/shutdown"),
    "resize": lambda chaos: at(chaos, "/resize", {"type": a_type(chaos)}),
    "mutate": lambda chaos: at(chaos, "/mutate"),
    "migrate": lambda chaos: at(chaos, "/migrate", {"region": chaos.rng.choice(["us-test", "us-other"])}),
    "clone": clone,
    "rebuild": rebuild,
    "password": lambda chaos: at(chaos, "/password", {"root_pass": STRONG}),
    "disk create": disk_create,
    "disk change": lambda chaos: at_disk(chaos, "", {"label": "changed", "size": a_size(chaos)}, "put"),
    "disk resize": lambda chaos: at_disk(chaos, "/resize", {"size": a_size(chaos)}),
    "disk clone": lambda chaos: at_disk(chaos, "/clone"),
    "disk password": lambda chaos: at_disk(chaos, "/password", {"password": STRONG}),
    "disk delete": lambda chaos: at_disk(chaos, method="delete"),
    "config create": config_create,
    "config delete": config_delete,
    "rescue": rescue,
    "imagize": imagize,
    "image delete": delete_image,
    "backups enable": lambda chaos: at(chaos, "/backups/enable"),
    "backups cancel": lambda chaos: at(chaos, "/backups/cancel"),
    "snapshot": lambda chaos: at(chaos, "/backups", {"label": "chaos"}),
    "restore": restore,
    "create from backup": create_from_backup,
    "volume create": volume_create,
    "volume attach": volume_attach,
    "volume detach": lambda chaos: at_volume(chaos, "/detach"),
    "volume resize": lambda chaos: at_volume(chaos, "/resize", {"size": chaos.rng.randrange(15, 90)}),
    "volume clone": lambda chaos: at_volume(chaos, "/clone", {"label": f"copy-{chaos.rng.randrange(10**9)}"}),
    "volume delete": lambda chaos: at_volume(chaos, method="delete"),
    "volume in profile": volume_name_in_profile,
    "address drop": drop_address,
    "address add": lambda chaos: at(chaos, "/ips", {"type": "ipv4", "public": chaos.flip()}),
}

ATTACHED = (
    "volume create", "volume attach", "volume detach", "volume resize", "volume clone", "volume delete",
    "volume in profile",
)  # fmt: skip
BACKUPS = ("backups enable", "backups cancel", "snapshot", "restore", "create from backup")


@pytest.fixture
def wide_world(world) -> World:
    """The world with another region, more small hosts, and types to resize to."""
    from tests.factories import AddressPoolFactory, HostFactory, InstanceTypeFactory

    room = {"memory": 9000, "vcpus": 9, "disk": 90000}
    Host.objects.update(**room)
    offered = ["Computes", "Vlans", "Block Storage"]
    Region.objects.update(capabilities=offered)
    other = Region.objects.create(id="us-other", country="us", capabilities=offered)
    HostFactory(region=world.region, **room)
    HostFactory(region=other, **room)
    AddressPoolFactory(region=other, network="198.19.7.0/24", addresses=20)
    AddressPoolFactory(region=other, network="10.9.0.0/24", kind="private", addresses=20)
    larger = InstanceTypeFactory(id="g6-test-4", label="Test 4GB", memory=4096, disk=51200, vcpus=4)
    InstanceTypeFactory(id="g5-test-2", label="Old", disk=20000, deprecated=True, successor=larger)
    return world


def run_some(driver: MemoryDriver, rng: random.Random, most: int) -> None:
    """Run workers for a while: live jobs in random order, each for the steps of one task."""
    for _ in range(rng.randrange(most)):
        live = list(Job.objects.filter(state__in=Job.LIVE).values_list("pk", flat=True))
        if not live:
            return
        job = rng.choice(live)
        Job.objects.filter(pk=job).update(run_at=Now(), lease_until=None)
        try:
            engine.run(job, driver)
        except WorkerDied:
            continue
        engine.notify_promoted()


def assert_invariants(driver: MemoryDriver) -> None:
    """Check the invariants that hold at every moment, also during jobs."""
    live = Job.objects.filter(state__in=Job.LIVE, instance__isnull=False).values("instance")
    assert not live.annotate(number=Count("pk")).filter(number__gt=1).exists()
    unsettled = Instance.objects.exclude(status__in=Instance.SETTLED)
    at_work = Job.objects.filter(finished_at=None)
    busy = {*at_work.values_list("instance_id", flat=True), *at_work.values_list("source_id", flat=True)}
    assert set(unsettled.values_list("pk", flat=True)) <= busy
    for host in Host.objects.all():
        assert host.memory_used <= host.memory
    for instance in Instance.objects.select_related("type"):
        # except during a job that changes its type, which lets a disk grow only together with the type
        if not instance.jobs.filter(finished_at=None, kind__in=["resize", "mutate"]).exists():
            assert taken(instance) <= instance.type.disk
    assert not Instance.objects.filter(booted_config__rescue=True).exists()
    named = {(c.instance.region_id, label) for c in Config.objects.all() for label in vlans_of([c])}
    assert named <= set(VLAN.objects.values_list("region", "label"))
    assert driver.archives.keys() <= archives_known() | archives_going(), "there is an archive that nothing names"
    assert_volumes_in_place(driver)
    known = {volume_name(pk) for pk in Volume.objects.values_list("pk", flat=True)}
    assert driver.volumes.keys() <= known | volumes_going(), "there is a volume that nothing names"
    for volume in Volume.objects.exclude(instance=None).select_related("instance"):
        assert volume.region_id == volume.instance.region_id
    open_events = Event.objects.filter(status__in=["scheduled", "started"])
    assert set(open_events.values_list("pk", flat=True)) <= set(at_work.values_list("event_id", flat=True))


def archives_known() -> set[str]:
    """Return the archives that images and backups of every status name, whether the archives exist or not."""
    images = Image.objects.filter(number__isnull=False).values_list("number", flat=True)
    backups = [archive for backup in Backup.objects.all() for archive in backup.archives]
    return {*(f"skerry-image-{number}" for number in images), *backups}


def drain(driver: MemoryDriver) -> None:
    """Finish every job, with no more failures."""
    for _ in range(2000):
        engine.notify_promoted()
        live = Job.objects.filter(state__in=Job.LIVE).order_by("pk").values_list("pk", flat=True).first()
        if live is None:
            return
        Job.objects.filter(pk=live).update(run_at=Now(), lease_until=None)
        engine.run(live, driver)
    raise AssertionError("jobs do not end")


def keep_the_invariants(seed: int, names: Iterable[str], world: World) -> Counter[str]:
    """Carry out random actions of these names, check the invariants, and return how often each action was
    carried out."""
    driver = MemoryDriver()
    chaos = Chaos(seed, world, driver, sorted(names))
    done: Counter[str] = Counter()
    client = APIClient(token_of(User.objects.get(pk=world.actor.user_id)))
    for _ in range(ACTIONS_EACH):
        name, (method, path, body) = chaos.action()
        send = getattr(client, method)
        answer = send(path, body) if method in ("post", "put") else send(path)
        assert answer.status_code in (200, 400, 404), (name, path, body, answer.content)
        done.update([name] if answer.status_code == 200 else [])
        assert_invariants(driver)
        run_some(driver, chaos.rng, 12)
        assert_invariants(driver)

    chaos.faults = 0
    drain(driver)
    assert_invariants(driver)
    assert_sound(Job.objects.latest("pk"), driver, None)
    return done


@pytest.mark.parametrize("seed", range(8))
def test_random_actions_with_faults_keep_the_invariants(seed, wide_world, settings):
    settings.JOB_BACKOFF = 0
    done = keep_the_invariants(seed, ACTIONS, wide_world)

    assert len(done) > len(ACTIONS) / 2, f"too little was carried out: {done}"


@pytest.mark.parametrize("seed", range(4))
def test_backups_and_crossing_actions_keep_the_invariants(seed, wide_world, settings):
    settings.JOB_BACKOFF = 0
    names = [*BACKUPS, *["snapshot", "restore", "create"] * 3, "delete", "boot", "clone"]
    done = keep_the_invariants(seed, names, wide_world)

    assert len(done.keys() & set(BACKUPS)) >= 3, f"too little was carried out: {done}"


@pytest.mark.parametrize("seed", range(6))
def test_volumes_and_crossing_actions_keep_the_invariants(seed, wide_world, settings):
    settings.JOB_BACKOFF = 0
    crossing = ["create", "delete", "boot", "reboot", "shutdown", "rebuild", "rescue", "migrate", "clone"]
    names = [*ATTACHED * 2, *crossing]
    done = keep_the_invariants(seed, names, wide_world)

    assert len(done.keys() & set(ATTACHED)) >= 6, f"too little was carried out: {done}"
