"""Capacity of hosts is never used twice: it is reserved, enlarged, moved and released, also by concurrent
requests."""

import threading

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now

from compute.models import AddressPool, Host, Instance, InstanceType, Reservation
from compute.services.hosts import placement
from compute.services.hosts.placement import REGION_FULL, RESOURCES, grow, place, release, settle
from compute.services.networking.addresses import slaac_in
from compute.services.removal import remove
from config.errors import Invalid
from tests.factories import AddressPoolFactory, HostFactory, InstanceFactory
from tests.racing import RACERS, held_up, race

pytestmark = pytest.mark.django_db


def exact() -> bool:
    """Tell whether each host's used capacity equals the sum of its reservations."""
    sums = [Sum(name, default=0) for name in RESOURCES]
    for host in Host.objects.all():
        sums_of_rows = list(host.reservations.aggregate(*sums).values())
        if sums_of_rows != [host.memory_used, host.vcpus_used, host.disk_used]:
            return False
    return True


def bigger(plan: InstanceType, factor: int = 2) -> InstanceType:
    sizes = {name: getattr(plan, name) * factor for name in RESOURCES}
    fields = {"price_hourly": 1, "price_monthly": 1, "transfer": 1, "network_out": 1}
    return InstanceType.objects.create(id=f"g6-times-{factor}", label="x", type_class="standard", **sizes, **fields)


@pytest.fixture
def instance(world) -> Instance:
    return InstanceFactory(account=world.account, region=world.region, host=world.host, type=world.type)


def room_for(count: int, plan: InstanceType) -> dict[str, int]:
    return {name: count * getattr(plan, name) for name in RESOURCES}


def test_the_host_with_the_largest_free_share_is_taken(world, instance):
    HostFactory(region=world.region, **room_for(3, world.type))
    empty = HostFactory(region=world.region, **room_for(30, world.type))
    Host.objects.filter(pk=world.host.pk).update(vcpus_used=world.host.vcpus // 2)

    assert place(instance, world.type, world.region.pk) != world.host
    for _ in range(3):
        place(instance, world.type, world.region.pk)
    empty.refresh_from_db()
    assert empty.memory_used == 3 * world.type.memory


@pytest.mark.parametrize("part", RESOURCES)
def test_none_is_taken_that_lacks_any_part(part, world, instance):
    Host.objects.filter(pk=world.host.pk).update(**{part: getattr(world.type, part) - 1})
    with pytest.raises(Invalid) as refusal:
        place(instance, world.type, world.region.pk, field="type")
    (problem,) = refusal.value.problems
    assert (problem.field, problem.reason) == ("type", REGION_FULL)
    assert not Reservation.objects.exists()


@pytest.mark.parametrize("closed", [{"enabled": False}, {"maintenance": "2026-01-01T00:00:00Z"}])
def test_a_closed_host_takes_none(closed, world, instance):
    Host.objects.filter(pk=world.host.pk).update(**closed)
    with pytest.raises(Invalid):
        place(instance, world.type, world.region.pk)


def test_a_host_that_does_not_answer_is_taken_last(world, instance):
    """Also if the other hosts are nearly full. It is taken before an instance is refused, because it may return
    soon."""
    Host.objects.filter(pk=world.host.pk).update(unreachable_since=Now())
    answering = HostFactory(region=world.region, **room_for(2, world.type))
    placed = [place(instance, world.type, world.region.pk) for _ in range(3)]
    assert placed == [answering, answering, world.host]
    assert exact()


def test_the_host_to_avoid_is_avoided(world, instance):
    with pytest.raises(Invalid):
        place(instance, world.type, world.region.pk, avoid=world.host)
    other = HostFactory(region=world.region)
    assert place(instance, world.type, world.region.pk, avoid=world.host) == other


def test_growing_holds_at_least_the_new_type(world, instance):
    settle(instance, world.host, world.type)
    twice = bigger(world.type)
    assert grow(instance, twice)
    assert grow(instance, twice), "a second time it fits already"
    assert Reservation.objects.values(*RESOURCES).get() == room_for(2, world.type)
    assert grow(instance, world.type), "what is smaller fits"
    assert Reservation.objects.values(*RESOURCES).get() == room_for(2, world.type)
    assert exact()


@pytest.mark.parametrize("part", RESOURCES)
def test_growing_where_it_does_not_fit_changes_nothing(part, world, instance):
    settle(instance, world.host, world.type)
    Host.objects.filter(pk=world.host.pk).update(**{part: 2 * getattr(world.type, part) - 1})
    assert not grow(instance, bigger(world.type))
    assert Reservation.objects.values(*RESOURCES).get() == room_for(1, world.type)
    assert exact()


def test_settling_gives_back_everything_else(world, instance):
    settle(instance, world.host, bigger(world.type))
    other = HostFactory(region=world.region)
    place(instance, world.type, world.region.pk, avoid=world.host)
    assert Reservation.objects.count() == 2
    for _ in range(2):
        settle(instance, other, world.type)
        reservation = Reservation.objects.get()
        assert (reservation.host, reservation.memory) == (other, world.type.memory)
        assert exact()


def test_all_creates_use_the_first_slaac_pool_of_a_region(world):
    first = AddressPool.objects.get(region=world.region, kind="slaac")
    key = first.pk
    first.delete()
    AddressPoolFactory(
        id=key + 1000, region=world.region, kind="slaac", network="2001:db8:78::/64", gateway="fe80::1"
    )
    first.pk = key
    first.save(force_insert=True)  # its row is stored after the other's
    made = world.create()
    assert made.ipv6 == slaac_in(world.region.pk, made.pk)
    assert made.ipv6.startswith("2001:db8:77:")


def test_a_removed_instance_releases_its_reservation(world):
    made = world.create()
    world.host.refresh_from_db()
    assert world.host.memory_used == world.type.memory
    assert exact()
    for give_back in (release, release, remove):
        give_back(made)
        world.host.refresh_from_db()
        assert (world.host.memory_used, world.host.vcpus_used, world.host.disk_used) == (0, 0, 0)
        assert not Reservation.objects.exists()


def test_a_create_without_room_leaves_nothing(world):
    Host.objects.filter(pk=world.host.pk).update(memory=world.type.memory - 1)
    with pytest.raises(Invalid) as refusal:
        world.create()
    assert [(each.field, each.reason) for each in refusal.value.problems] == [("region", REGION_FULL)]
    assert not Instance.objects.exists()


def test_the_check_stands_behind_it(world, instance):
    Host.objects.filter(pk=world.host.pk).update(**room_for(1, world.type))
    with pytest.raises(IntegrityError), transaction.atomic():
        settle(instance, world.host, bigger(world.type))
    assert exact()


@pytest.mark.django_db(transaction=True)
def test_simultaneous_creates_stay_within_the_capacity(world):
    room = RACERS - 3
    Host.objects.filter(pk=world.host.pk).update(**room_for(room - 4, world.type))
    HostFactory(region=world.region, **room_for(4, world.type))

    results = race(lambda number: world.create(label=f"racer-{number}"))

    made = [result for result in results if isinstance(result, Instance)]
    refused = [result for result in results if isinstance(result, Invalid)]
    assert (len(made), len(refused)) == (room, RACERS - room)
    assert {str(refusal) for refusal in refused} == {REGION_FULL}
    assert exact()
    assert all(host.memory_used == host.memory for host in Host.objects.all())


@pytest.mark.django_db(transaction=True)
def test_simultaneous_enlargements_stay_within_the_capacity(world):
    instances = [world.create(label=f"racer-{number}") for number in range(RACERS)]
    Host.objects.filter(pk=world.host.pk).update(**room_for(RACERS + 5, world.type))
    twice = bigger(world.type)

    def enlarge(number: int) -> bool:
        with transaction.atomic():
            return grow(instances[number], twice)

    assert sum(race(enlarge)) == 5
    assert exact()


@pytest.mark.django_db(transaction=True)
def test_a_placement_waits_for_no_other_while_another_host_has_room(world, instance):
    """One transaction has locked the emptiest host. The next one takes another host at once."""
    other = HostFactory(region=world.region, **room_for(10, world.type))
    Host.objects.filter(pk=other.pk).update(**{f"{n}_used": v for n, v in room_for(5, world.type).items()})
    placed: list[Host] = []

    def second() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '20s'")
                placed.append(place(instance, world.type, world.region.pk))
        finally:
            connection.close()

    with transaction.atomic():
        assert placement.place(instance, world.type, world.region.pk) == world.host
        racer = threading.Thread(target=second)
        racer.start()
        racer.join()
    assert placed == [other]


@pytest.mark.django_db(transaction=True)
def test_a_placement_waits_for_a_host_that_answers_rather_than_take_one_that_does_not(world, instance):
    silent = HostFactory(region=world.region)
    Host.objects.filter(pk=silent.pk).update(unreachable_since=Now())
    placed: list[Host] = []

    def second() -> None:
        try:
            with transaction.atomic():
                placed.append(place(instance, world.type, world.region.pk))
        finally:
            connection.close()

    racer = threading.Thread(target=second)
    with transaction.atomic():
        assert place(instance, world.type, world.region.pk) == world.host
        racer.start()
        assert held_up()
    racer.join()
    assert placed == [world.host]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempt", range(5))
def test_racing_creates_on_many_small_hosts_end_without_a_deadlock(world, attempt):
    """Hosts fill up while others wait for them. A waiting create has released the hosts that refused it."""
    Host.objects.filter(pk=world.host.pk).update(**room_for(1, world.type))
    for _ in range(3):
        HostFactory(region=world.region, **room_for(1, world.type))

    results = race(lambda number: world.create(label=f"racer-{number}"))

    made = [result for result in results if isinstance(result, Instance)]
    refused = [result for result in results if isinstance(result, Invalid)]
    assert (len(made), len(refused)) == (4, RACERS - 4)
    assert exact()
