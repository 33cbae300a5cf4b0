"""Quotas of what costs money, checked in the transactions that take it."""

import gzip
import io
from collections.abc import Callable

import pytest

from accounts.models import Account, Event, ResourceUse, TrustLevel
from accounts.quotas import LEVELS, NEW
from accounts.services.quotas import limits_for
from compute.drivers.base import Refused
from compute.models import Image, Instance, InstanceType, Job, UsageInterval, UsageKind, Volume
from compute.services.backups.backups import cancel, enable, snapshot
from compute.services.hosts.moves import migrate
from compute.services.images.images import begin_upload, create_from_disk
from compute.services.images.uploads import receive, sign
from compute.services.instances import disks
from compute.services.instances.clones import CloneSpec, clone
from compute.services.instances.instances import delete
from compute.services.instances.resize import resize
from compute.services.networking import assign, ranges
from compute.services.networking.ranges import RangeSpec
from compute.services.networking.reassign import Assignment
from compute.services.networking.reassign import assign as reassign
from compute.services.nodebalancers import nodebalancers
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from compute.services.usage.comparison import compare, repair
from compute.services.usage.repricing import reprice
from compute.services.volumes import volumes
from compute.services.volumes.volumes import VolumeSpec
from config.errors import Invalid
from regions.models import Region
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import backed_up, deployed
from tests.factories import AddressPoolFactory, HostFactory, HostMigrationFactory, InstanceTypeFactory
from tests.racing import done, race
from tests.world import CAPABILITIES, World

INSTANCE = {"instances": 1, "vcpus": 2, "memory": 2048, "gpus": 0, "disk": 25600}
"""The use of an instance of the world's type."""


def allow(world: World, **limits: int | None) -> None:
    """Give the account these limits of its own, and no other limits."""
    Account.objects.filter(pk=world.account.pk).update(quotas=limits)


def used(world: World) -> dict[str, int]:
    row = ResourceUse.objects.filter(pk=world.account.pk).values(*INSTANCE).first()
    return row or dict.fromkeys(INSTANCE, 0)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_creates_stay_within_the_quota(world: World):
    allow(world, instances=5)

    results = race(lambda number: world.create(label=f"one-{number}", image=None), racers=32)

    assert len(done(results)) == 5
    reasons = {str(each) for each in results if isinstance(each, Invalid)}
    assert reasons == {
        "The account's quota of computes is 5: 5 used, 1 more needed. Open a support ticket to ask for more."
    }
    assert Instance.objects.count() == Job.objects.count() == Event.objects.count() == 5
    assert UsageInterval.objects.count() == 5
    assert compare(world.account.pk) == {}


def _create(world: World, driver: MemoryDriver) -> None:
    world.create(image=None)


def _clone(world: World, driver: MemoryDriver) -> None:
    clone(world.actor, Instance.objects.earliest("pk"), CloneSpec())


def _resize(world: World, driver: MemoryDriver) -> None:
    resize(world.actor, Instance.objects.earliest("pk"), "g6-test-4")


def _volume(world: World, driver: MemoryDriver) -> None:
    volumes.create(world.actor, VolumeSpec(label="data", region=world.region.pk))


def _volume_clone(world: World, driver: MemoryDriver) -> None:
    volumes.clone(world.actor, _active_volume(world), "copy")


def _volume_resize(world: World, driver: MemoryDriver) -> None:
    volumes.resize(world.actor, _active_volume(world), 40)


def _active_volume(world: World) -> Volume:
    volume = Volume.objects.create(account=world.account, label="data", region=world.region, status="active")
    repair(world.account.pk)
    return volume


def _image(world: World, driver: MemoryDriver) -> None:
    disk = Instance.objects.earliest("pk").disks.earliest("pk")
    create_from_disk(world.actor, disk.pk, label="mine", description=None)


def _upload(world: World, driver: MemoryDriver) -> None:
    receive_upload(world, megabytes=3)


def _snapshot(world: World, driver: MemoryDriver) -> None:
    instance = Instance.objects.earliest("pk")
    enable(world.actor, instance)
    snapshot(world.actor, instance, "now")


def _range(world: World, driver: MemoryDriver) -> None:
    AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:5000::/40", gateway="::1")
    ranges.create(world.actor, RangeSpec(64, compute_id=Instance.objects.earliest("pk").pk))


def _nodebalancer(world: World, driver: MemoryDriver) -> None:
    nodebalancers.create(world.actor, NodeBalancerSpec(region=world.region.pk))


def receive_upload(world: World, megabytes: int) -> Image:
    """Upload an image that unpacks to zeros of this size, and return it while it waits for its job."""
    image = begin_upload(world.actor, label="mine", description=None, region=world.region.pk)
    packed = gzip.compress(bytes(megabytes * 1024**2))
    receive(sign(image), io.BytesIO(packed), len(packed))
    return image


TAKERS: list[tuple[Callable[[World, MemoryDriver], None], dict[str, int], str]] = [
    (_create, {"instances": 1}, "computes is 1: 1 used, 1 more needed"),
    (_create, {"memory": 4000}, "memory of computes is 4000 MB: 2048 MB used, 2048 MB more needed"),
    (_clone, {"vcpus": 3}, "vCPUs is 3: 2 used, 2 more needed"),
    (_clone, {"disk": 30000}, "disk space of computes is 30000 MB: 25600 MB used, 25600 MB more needed"),
    (_resize, {"vcpus": 3}, "vCPUs is 3: 2 used, 2 more needed"),
    (_resize, {"gpus": 0}, "GPUs is 0: 0 used, 1 more needed"),
    (_volume, {"volumes": 0}, "volumes is 0: 0 used, 1 more needed"),
    (_volume, {"volume_storage": 19}, "storage of volumes is 19 GB: 0 GB used, 20 GB more needed"),
    (_volume_clone, {"volume_storage": 30}, "storage of volumes is 30 GB: 20 GB used, 20 GB more needed"),
    (_volume_resize, {"volume_storage": 30}, "storage of volumes is 30 GB: 20 GB used, 20 GB more needed"),
    (_image, {"image_storage": 10}, "storage of images is 10 MB: 0 MB used, "),
    (_upload, {"image_storage": 0}, "storage of images is 0 MB: 0 MB used, 1 MB more needed"),
    (_snapshot, {"backup_storage": 10}, "storage of backups is 10 MB: 0 MB used, "),
    (_range, {"total_ipv6_ranges": 0}, "IPv6 ranges is 0: 0 used, 1 more needed"),
    (_nodebalancer, {"total_nodebalancers": 0}, "nodebalancers is 0: 0 used, 1 more needed"),
]


@pytest.mark.parametrize(("take", "limits", "reason"), TAKERS)
def test_a_request_beyond_a_quota_is_refused_with_the_limit_and_the_use(world: World, take, limits, reason):
    Region.objects.update(capabilities=[*CAPABILITIES, "Block Storage", "NodeBalancers", "GPU Computes"])
    InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200, vcpus=4, gpus=1)
    driver = MemoryDriver()
    deployed(world, driver, running=False)
    allow(world, **limits)

    with pytest.raises(Invalid) as refused:
        take(world, driver)

    assert str(refused.value).startswith(f"The account's quota of {reason}")
    assert [problem.field for problem in refused.value.problems] == [None]


def test_a_request_within_the_quota_is_accepted(world: World):
    """Each limit is what the refused requests above would have needed."""
    allow(world, instances=2, vcpus=4, memory=4096, disk=51200)
    driver = MemoryDriver()
    deployed(world, driver)
    _clone(world, driver)
    assert used(world) == {name: 2 * each for name, each in INSTANCE.items()}


def test_an_upload_that_unpacks_to_more_than_the_quota_fails(world: World):
    """Compressed files are small, and the size is known only when a worker unpacks the file."""
    allow(world, image_storage=2)
    receive_upload(world, megabytes=3)

    job = work(Job.objects.get(kind="import_image"), MemoryDriver())

    assert job.state == Job.State.FAILED
    (event,) = Event.objects.filter(action="image_upload")
    assert event.message.startswith(
        "The account's quota of storage of images is 2 MB: 0 MB used, 3 MB more needed."
    )
    assert not Image.objects.filter(number__isnull=False).exists()
    assert compare(world.account.pk) == {}


@pytest.mark.parametrize("more", [0, -1])
def test_an_image_counts_the_size_of_a_disk_that_grew_while_the_image_waited(world: World, more):
    driver = MemoryDriver()
    instance = deployed(world, driver, running=False)
    disk = instance.disks.earliest("pk")
    disk.size = 1000
    disk.save(update_fields=["size"])
    disks.resize(world.actor, disk, 1100)
    allow(world, image_storage=1100 + more)
    create_from_disk(world.actor, disk.pk, label="mine", description=None)
    finish(instance, driver)
    found: list[dict[str, list[int]]] = []
    driver.before = lambda number, name: found.append(compare(world.account.pk))

    job = work(Job.objects.get(kind="imagize"), driver)

    if more == 0:
        assert job.state == Job.State.DONE
        assert found
        assert not any(found)
    else:
        assert job.state == Job.State.FAILED
        reason = "storage of images is 1099 MB: 1000 MB used, 100 MB more needed."
        assert reason in Event.objects.get(action="disk_imagize").message
        assert not Image.objects.filter(number__isnull=False).exists()
    assert compare(world.account.pk) == {}


def test_a_resize_counts_the_larger_type_until_it_fails(world: World):
    InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200, vcpus=4)
    driver = MemoryDriver()
    instance = deployed(world, driver)
    job = resize(world.actor, instance, "g6-test-4")
    assert used(world) == {"instances": 1, "vcpus": 4, "memory": 4096, "gpus": 0, "disk": 51200}

    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    work(job, driver)

    assert used(world) == INSTANCE
    (interval,) = UsageInterval.objects.filter(kind=UsageKind.COMPUTE)
    assert (interval.type, interval.ended) == (world.type.pk, None), "a resize that fails changes no price"


def test_a_resize_begins_a_new_interval_when_the_instance_has_the_type(world: World):
    InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200, vcpus=4)
    driver = MemoryDriver()
    instance = deployed(world, driver)
    resize(world.actor, instance, "g6-test-4")
    finish(instance, driver)

    before, after = UsageInterval.objects.order_by("pk")
    assert (before.type, after.type) == (world.type.pk, "g6-test-4")
    assert before.ended == after.started
    assert after.ended is None


def test_a_create_that_fails_gives_back_its_quota_and_costs_nothing(world: World):
    driver = MemoryDriver()
    driver.before = failing_at(0, Refused("Not possible."), times=1)
    job = world.create(image=None, backups_enabled=True).jobs.get()
    assert UsageInterval.objects.count() == 2

    work(job, driver)

    assert used(world) == dict.fromkeys(INSTANCE, 0)
    assert not UsageInterval.objects.exists()


def test_a_create_that_fails_does_not_cost_what_ended_before_either(world: World):
    """A new price ends the intervals of an instance that is being created, and so does a backup service's end."""
    driver = MemoryDriver()
    older = deployed(world, driver)
    enable(world.actor, older)
    instance = world.create(image=None, backups_enabled=True)
    InstanceType.objects.update(price_hourly=7, backup_price_hourly=7)
    assert reprice() == 4
    cancel(world.actor, instance)
    InstanceType.objects.update(price_hourly=8, backup_price_hourly=8)
    assert reprice() == 3
    assert UsageInterval.objects.count() == 11

    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    work(instance.jobs.get(), driver)

    assert used(world) == INSTANCE
    assert list(UsageInterval.objects.values_list("resource", flat=True)) == [older.pk] * 6


def test_a_deletion_ends_the_usage_when_it_is_accepted(world: World):
    """The customer does not pay for a host that is away: the deletion may wait for it long."""
    driver = MemoryDriver()
    instance = backed_up(world, driver)
    delete(world.actor, instance)

    assert used(world) == dict.fromkeys(INSTANCE, 0)
    ended = UsageInterval.objects.exclude(ended=None).values_list("kind", flat=True)
    assert sorted(ended) == [UsageKind.BACKUP, UsageKind.COMPUTE, UsageKind.COMPUTE_BACKUPS]
    work(Job.objects.get(kind="delete"), driver)
    assert UsageInterval.objects.count() == 3, "intervals outlive their resource"


def test_limits_are_those_of_the_level_but_for_the_accounts_own(world: World):
    Account.objects.filter(pk=world.account.pk).update(
        trust_level=NEW, quotas={"instances": 50, "gpus": None, "tags": 3}
    )
    assert limits_for(world.account.pk) == {**LEVELS[NEW], "instances": 50, "gpus": None}


@pytest.mark.parametrize(("level", "limits"), [("partner", {"volumes": 7}), (NEW, {"instances": 1})])
def test_a_level_of_the_operator_replaces_a_level_of_the_same_name(world: World, level, limits):
    TrustLevel.objects.create(id=level, label="Partners", limits=limits)
    Account.objects.filter(pk=world.account.pk).update(trust_level=level)
    assert limits_for(world.account.pk) == limits


def test_a_level_that_is_gone_has_the_limits_of_a_new_account(world: World):
    Account.objects.filter(pk=world.account.pk).update(trust_level="gone")
    assert limits_for(world.account.pk) == LEVELS[NEW]


def test_a_lower_limit_refuses_no_change_that_takes_nothing(world: World):
    """Staff may lower a limit below the use. Resources that are there stay, and can be made smaller."""
    driver = MemoryDriver()
    InstanceTypeFactory(id="g6-test-0", memory=1024, disk=25600, vcpus=1)
    instance = deployed(world, driver)
    allow(world, instances=0, vcpus=0, memory=0, disk=0)
    resize(world.actor, instance, "g6-test-0")
    finish(instance, driver)
    delete(world.actor, instance)
    assert used(world) == dict.fromkeys(INSTANCE, 0)


def test_no_quota_refuses_a_move_or_backups_of_an_instance_that_was_not_counted(world: World):
    """Processes of an earlier release create instances without counting them. The next record counts them."""
    HostFactory(region=world.region)
    instance = deployed(world, MemoryDriver())
    HostMigrationFactory(instance=instance)
    UsageInterval.objects.all().delete()
    ResourceUse.objects.all().delete()
    allow(world, instances=0)

    enable(world.actor, instance)
    assert used(world)["instances"] == 1
    UsageInterval.objects.all().delete()
    ResourceUse.objects.all().delete()
    migrate(world.actor, instance)

    assert used(world)["instances"] == 1
    assert compare(world.account.pk) == {}


def test_a_create_that_fails_does_not_erase_the_usage_of_addresses_that_it_got(world: World):
    """An address or a range may be moved to an instance whose create then fails. Its usage began before."""
    Account.objects.filter(pk=world.account.pk).update(extra_ipv4=1)
    AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:5000::/40", gateway="::1")
    driver = MemoryDriver()
    older = deployed(world, driver)
    extra = assign.add(world.actor, older, public=True)
    routed = ranges.create(world.actor, RangeSpec(64, compute_id=older.pk))
    driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    failing = world.create(image=None)
    moved = [Assignment(each, failing.pk) for each in (extra.address, str(routed))]
    reassign(world.actor, world.region.pk, moved)

    assert work(failing.jobs.get(), driver).state == Job.State.FAILED

    ended = UsageInterval.objects.exclude(ended=None).values_list("kind", flat=True)
    assert sorted(ended) == [UsageKind.EXTRA_IPV4, UsageKind.IPV6_RANGE]
    assert compare(world.account.pk) == {}


def test_an_instance_that_is_being_deleted_gives_back_its_extra_address(world: World):
    """The check counts as `GET /account/quotas` does, while the deletion waits for its host."""
    Account.objects.filter(pk=world.account.pk).update(extra_ipv4=1)
    driver = MemoryDriver()
    leaving, staying = deployed(world, driver), deployed(world, driver)
    assign.add(world.actor, leaving, public=True)
    with pytest.raises(Invalid):
        assign.add(world.actor, staying, public=True)
    delete(world.actor, leaving)

    assign.add(world.actor, staying, public=True)

    assert ResourceUse.objects.get(pk=world.account.pk).extra_ipv4 == 1
    assert compare(world.account.pk) == {}
