"""Two computes in a region whose addresses belong to this machine, with web servers on them."""

import pytest

from accounts.models import User
from compute.models import Address, AddressPool, Instance
from regions.models import Region
from tests.compute.services.nodebalancers.haproxy.running import WebServer
from tests.factories import AddressPoolFactory


@pytest.fixture
def region(world) -> Region:
    """The world's region. All of its addresses belong to this machine."""
    Address.objects.all().delete()
    AddressPool.objects.all().delete()
    AddressPoolFactory(region=world.region, network="127.8.0.0/24", addresses=8)
    AddressPoolFactory(region=world.region, network="127.9.0.0/24", addresses=8, kind="private")
    Region.objects.filter(pk=world.region.pk).update(capabilities=["Computes", "NodeBalancers"])
    return world.region


@pytest.fixture
def instances(world, region) -> list[Instance]:
    """Two computes, with the private addresses 127.9.0.2 and 127.9.0.3."""
    made = [world.create(label=f"web-{n}", private_ip=True) for n in (1, 2)]
    for instance in made:
        instance.jobs.all().delete()
    return made


@pytest.fixture
def api(client_for, world, region):
    return client_for(User.objects.get(pk=world.actor.user_id))


@pytest.fixture
def servers(instances):
    """A web server on each of the computes."""
    made = [WebServer("one", "127.9.0.2"), WebServer("two", "127.9.0.3")]
    yield made
    for server in made:
        server.close()
