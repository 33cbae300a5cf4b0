"""The rows of an instance that has moved, or that stays where it was. Each function may run twice."""

import pytest
from django.utils.timezone import now

from compute.jobs.data import MoveData
from compute.models import Address, Host, HostMigration, Instance, IPv6Range, Reservation
from compute.services.hosts.move_records import TRY_AGAIN, arrive, stay
from compute.services.hosts.placement import place
from compute.services.networking import addresses
from tests.factories import (
    AddressPoolFactory,
    DiskFactory,
    HostFactory,
    HostMigrationFactory,
    InstanceTypeFactory,
    RegionFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    return world.offline()


@pytest.fixture
def target(world) -> Host:
    return HostFactory(region=world.region)


def move_to(instance: Instance, host: Host, **fields) -> MoveData:
    """Reserve capacity on the host, and return the data of the move's job."""
    data = MoveData(**{
        "running": False, "previous_host_id": instance.host_id, "host_id": host.pk,
        "previous_type_id": instance.type_id, "type_id": instance.type_id, **fields,
    })  # fmt: skip
    place(instance, instance.type, host.region_id, only=host)
    return data


def reservations() -> list[tuple[int, int]]:
    return list(Reservation.objects.values_list("host", "memory"))


def used(host: Host) -> int:
    return Host.objects.get(pk=host.pk).memory_used


def test_an_instance_that_arrived_is_on_its_new_host_alone(world, instance, target):
    migration = HostMigrationFactory(instance=instance, status=HostMigration.Status.STARTED)
    data = move_to(instance, target, migration_id=migration.pk)
    assert (used(world.host), used(target)) == (world.type.memory, world.type.memory)
    for _ in range(2):
        arrive(instance, data)
        assert Instance.objects.get(pk=instance.pk).host == target
        assert reservations() == [(target.pk, world.type.memory)]
        assert (used(world.host), used(target)) == (0, world.type.memory)
    migration.refresh_from_db()
    assert migration.status == "done"


def test_a_new_type_changes_the_reservation_and_the_disk(world, instance, target):
    larger = InstanceTypeFactory(id="larger", memory=4096)
    disk = DiskFactory(instance=instance)
    arrive(instance, move_to(instance, target, type_id=larger.pk, disk_id=disk.pk, disk_size=2000))
    assert Instance.objects.get(pk=instance.pk).type == larger
    assert reservations() == [(target.pk, 4096)]
    disk.refresh_from_db()
    assert disk.size == 2000


@pytest.fixture
def elsewhere(world) -> Host:
    """A host in another region, with free addresses."""
    region = RegionFactory(id="us-other")
    AddressPoolFactory(region=region, addresses=3)
    return HostFactory(region=region)


def test_an_instance_that_left_its_region_has_only_the_new_addresses(world, instance, elsewhere):
    former = list(Address.objects.filter(instance=instance).values_list("pk", flat=True))
    assert former
    IPv6Range.objects.create(
        account=world.account, region=world.region, instance=instance, range="2001:db8:5000::", prefix=64,
        pool=AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:5000::/44"),
    )  # fmt: skip
    taken = addresses.take(elsewhere.region_id, instance.pk, public=True)
    data = move_to(instance, elsewhere, region_id=elsewhere.region_id, ipv4=[taken], ipv6="2001:db8::7/128")

    arrive(instance, data)

    instance.refresh_from_db()
    assert (instance.region_id, instance.ipv4, instance.ipv6) == (elsewhere.region_id, [taken], "2001:db8::7/128")
    assert [str(each.address) for each in Address.objects.filter(instance=instance)] == [taken]
    assert not Address.objects.filter(pk__in=former, instance__isnull=False).exists()
    assert not IPv6Range.objects.filter(instance=instance).exists()


def test_an_instance_that_stays_keeps_its_host_and_moves_later(world, instance, target):
    migration = HostMigrationFactory(instance=instance, status=HostMigration.Status.STARTED)
    data = move_to(instance, target, migration_id=migration.pk)
    for _ in range(2):
        stay(instance, data)
        assert Instance.objects.get(pk=instance.pk).host == world.host
        assert reservations() == [(world.host.pk, world.type.memory)]
        assert (used(world.host), used(target)) == (world.type.memory, 0)
    migration.refresh_from_db()
    assert migration.status == "pending"
    assert migration.when - now() > TRY_AGAIN / 2


def test_an_instance_that_stays_releases_the_addresses_of_the_other_region(world, instance, elsewhere):
    former = set(Address.objects.filter(instance=instance).values_list("pk", flat=True))
    taken = addresses.take(elsewhere.region_id, instance.pk, public=True)
    data = move_to(instance, elsewhere, region_id=elsewhere.region_id, ipv4=[taken])
    stay(instance, data)
    assert set(Address.objects.filter(instance=instance).values_list("pk", flat=True)) == former
    assert Address.objects.get(address=taken).instance is None


def test_a_move_that_nobody_scheduled_changes_no_other_migration(world, instance, target):
    other = HostMigrationFactory(instance=world.offline(label="other"), status=HostMigration.Status.STARTED)
    arrive(instance, move_to(instance, target))
    other.refresh_from_db()
    assert other.status == "started"
