"""Concurrent requests for addresses and ranges: real threads on a real database."""

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Event, User
from compute.models import Address, AddressPool, AddressShare, Instance, IPv6Range
from compute.services.networking import assign, ranges, reassign
from compute.services.removal import remove
from config.errors import DomainError
from tests.factories import token_of
from tests.racing import RACERS, done, race

pytestmark = pytest.mark.django_db(transaction=True)


def sound() -> None:
    """Check that rows and arrays agree, and that each instance has a public and at most one private address."""
    for instance in Instance.objects.all():
        rows = list(instance.addresses.all())
        assert sorted(instance.ipv4) == sorted(row.address for row in rows)
        assert any(row.public for row in rows)
        assert sum(not row.public for row in rows) <= 1
    assert not AddressShare.objects.filter(address__instance=None).exists()


def test_simultaneous_additions_stay_within_the_limit_of_the_account(world):
    instances = [world.offline(label=f"one-{number}") for number in range(3)]
    world.account.extra_ipv4 = 4
    world.account.save()

    results = race(lambda number: assign.add(world.actor, instances[number % 3], public=True))

    assert len(done(results)) == 4
    assert all(str(each) == assign.TOO_MANY for each in results if isinstance(each, DomainError))
    assert Address.objects.filter(instance__in=instances).count() == 3 + 4
    assert Event.objects.filter(action="compute_addip").count() == 4
    sound()


def test_one_of_many_simultaneous_private_additions_succeeds(world):
    instance = world.offline(label="one")

    assert len(done(race(lambda number: assign.add(world.actor, instance, public=False)))) == 1
    sound()


def test_simultaneous_deletions_leave_one_public_address(world):
    instance = world.offline(label="one")
    Address.objects.filter(address__in=["198.18.0.40", "198.18.0.41"]).update(instance=instance)
    Instance.objects.filter(pk=instance.pk).update(ipv4=["198.18.0.2", "198.18.0.40", "198.18.0.41"])
    mine = list(instance.addresses.order_by("pk"))

    def act(number: int) -> bool:
        assign.delete(world.actor, mine[number % 3])
        return True

    results = race(act)

    assert len(done(results)) == 2
    assert Address.objects.filter(instance=instance).count() == 1
    sound()


def test_racing_assignments_leave_every_instance_with_an_address(world):
    """Swaps, and attempts to take the other's address without a swap, all at once."""
    first, second = world.offline(label="first", private_ip=True), world.offline(label="second")

    def act(number: int) -> bool:
        moves = [
            [("198.18.0.2", second.pk), ("198.18.0.3", first.pk)],
            [("198.18.0.2", first.pk), ("198.18.0.3", second.pk)],
            [("198.18.0.2", second.pk)],
            [("198.18.0.3", first.pk), ("10.0.0.2", second.pk)],
        ][number % 4]
        reassign.assign(world.actor, "us-test", [reassign.Assignment(*move) for move in moves])
        return True

    results = race(act)

    assert all(result is True or isinstance(result, DomainError) for result in results)
    assert True in results
    sound()
    assert Address.objects.filter(instance__isnull=False).count() == 3


def test_assigning_sharing_and_deleting_at_once_neither_deadlock_nor_break_anything(world):
    instances = [world.offline(label=f"one-{number}", private_ip=number == 0) for number in range(3)]
    world.account.extra_ipv4 = 10
    world.account.save()
    targets = [each.pk for each in instances]

    def act(number: int) -> bool:
        to, address = targets[number % 3], f"198.18.0.{2 + (number + 1) % 3}"
        if number % 4 == 0:
            reassign.share(world.actor, to, [address])
        elif number % 4 == 1:
            reassign.assign(world.actor, "us-test", [reassign.Assignment(address, to)])
        elif number % 4 == 2:
            assign.add(world.actor, Instance.objects.get(pk=to), public=True)
        else:
            assign.delete(world.actor, Address.objects.get(address=address))
        return True

    for _ in range(3):
        results = race(act)
        assert all(result is True or isinstance(result, DomainError) for result in results)
        sound()


def test_an_instance_that_goes_takes_no_address_with_it(world):
    """Addresses are added while the instance is removed. The second of the two sees the effects of the first."""
    from django.db import transaction

    instance = world.offline(label="going")
    world.account.extra_ipv4 = 50
    world.account.save()

    def act(number: int) -> bool:
        if number == RACERS // 2:
            with transaction.atomic():
                remove(Instance.objects.get(pk=instance.pk))
        else:
            assign.add(world.actor, instance, public=True)
        return True

    results = race(act)

    assert all(result is True or isinstance(result, DomainError) for result in results)
    assert not Instance.objects.exists()
    assert not Address.objects.filter(instance__isnull=False).exists()


def test_no_two_ranges_overlap_and_the_limit_holds(world, settings):
    settings.IPV6_RANGES = RACERS - 3
    instances = [world.offline(label=f"one-{number}") for number in range(3)]
    AddressPool.objects.create(region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1")

    def act(number: int) -> IPv6Range:
        length = (64, 56)[number % 2]
        return ranges.create(world.actor, ranges.RangeSpec(length, compute_id=instances[number % 3].pk))

    results = race(act)

    assert len(done(results)) == RACERS - 3
    assert overlaps() == 0


def test_no_two_accounts_get_one_range(world, settings):
    """Different accounts lock different rows. The lock of the pool's row decides."""
    from accounts.actors import Actor
    from tests.factories import AccountFactory, InstanceFactory

    AddressPool.objects.create(region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1")
    actors = []
    for number in range(RACERS):
        account = AccountFactory()
        instance = InstanceFactory(
            account=account, region=world.region, type=world.type, host=world.host,
            ipv6=f"2001:db8:77::{number + 1}/128",
        )  # fmt: skip
        actors.append((Actor(account.pk), instance.pk))

    def act(number: int) -> IPv6Range:
        actor, pk = actors[number]
        return ranges.create(actor, ranges.RangeSpec((64, 56)[number % 2], compute_id=pk))

    assert len(done(race(act))) == RACERS
    assert overlaps() == 0


def overlaps() -> int:
    """Return the number of pairs of ranges that have an address in common."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM compute_ipv6range a JOIN compute_ipv6range b ON a.id < b.id"
            " AND set_masklen(a.range, a.prefix) && set_masklen(b.range, b.prefix)"
        )
        return cursor.fetchone()[0]


def test_the_list_of_the_account_runs_prepared(world):
    """Outside of a transaction, as in production, the statement is prepared with all of its parameters."""
    instance = world.offline(label="listed", private_ip=True)
    token = token_of(User.objects.get(pk=world.actor.user_id))
    client = Client(headers={"Authorization": f"Bearer {token}"})
    for _ in range(2):
        data = client.get("/v4/networking/ips").json()["data"]
        assert [each["address"] for each in data] == [*instance.ipv4, instance.ipv6.removesuffix("/128")]
        for each in data:
            assert client.get(f"/v4/networking/ips/{each['address']}").json() == each
