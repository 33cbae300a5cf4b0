"""The comparison of counters and intervals with rows, and the repair."""

from accounts.models import Account, ResourceUse
from compute.models import UsageInterval, Volume
from compute.services.usage.comparison import compare, compare_some, repair
from tests.factories import AccountFactory, VolumeFactory
from tests.world import World


def test_a_row_that_nobody_recorded_is_shown_to_staff_until_it_is_repaired(world: World):
    world.create(image=None)
    VolumeFactory(account=world.account, region=world.region, size=30)

    found = compare(world.account.pk)

    assert found == {"volumes": [0, 1], "volume_storage": [0, 30], "intervals": 1}
    assert ResourceUse.objects.get(pk=world.account.pk).difference == found
    repair(world.account.pk)
    assert compare(world.account.pk) == {}
    assert ResourceUse.objects.get(pk=world.account.pk).difference == {}
    interval = UsageInterval.objects.get(kind="volume")
    assert (interval.quantity, interval.ended) == (30, None)


def test_a_repair_ends_the_interval_of_a_resource_that_is_gone(world: World):
    volume = VolumeFactory(account=world.account, region=world.region)
    repair(world.account.pk)
    Volume.objects.filter(pk=volume.pk).delete()
    assert compare(world.account.pk)["intervals"] == 1
    repair(world.account.pk)
    assert UsageInterval.objects.get().ended is not None
    assert ResourceUse.objects.get(pk=world.account.pk).volumes == 0


def test_each_account_is_compared_once_a_day(world: World):
    other = AccountFactory()
    VolumeFactory(account=other)
    assert compare_some() == 1
    assert ResourceUse.objects.exclude(difference={}).get().account == other
    assert ResourceUse.objects.exclude(compared=None).count() == Account.objects.count()
    VolumeFactory(account=world.account)
    assert compare_some() == 0, "the account was compared a moment ago"
