"""The users of compute's API tests: those of the world, and a restricted user of its account."""

import pytest

from accounts.models import Account, Event, User
from compute.models import AddressPool, Instance, Volume
from tests.compute.memory_driver import MemoryDriver
from tests.compute.worker.scenarios import deployed, volume_of
from tests.world import World


@pytest.fixture
def account(world: World) -> Account:
    return world.account


@pytest.fixture
def owner(world: World) -> User:
    return User.objects.get(pk=world.actor.user_id)


@pytest.fixture
def instance(world: World) -> Instance:
    """An instance that is off and has no events yet."""
    made = world.offline(label="addressed")
    Event.objects.all().delete()
    return made


@pytest.fixture
def running(world: World, driver: MemoryDriver) -> Instance:
    """An instance that was deployed and booted."""
    return deployed(world, driver, label="runner")


@pytest.fixture
def routed(world) -> AddressPool:
    return AddressPool.objects.create(
        region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1"
    )


@pytest.fixture
def off(world, driver) -> Instance:
    return deployed(world, driver, running=False, label="sleeper")


@pytest.fixture
def volume(world, driver) -> Volume:
    """A volume of 20 GB, not attached."""
    return volume_of(world, driver)


@pytest.fixture
def helper(world) -> User:
    return User.objects.create_user("worldhelper", account=world.account, restricted=True)
