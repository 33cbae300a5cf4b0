"""The networks of a region's customers, for the packet filters of its hosts."""

from ipaddress import ip_address, ip_network

import pytest

from compute.models import Address, AddressPool, Host
from compute.services.hosts.customer_networks import networks_of
from compute.services.networking.addresses import slaac_address
from compute.services.networking.pools import add_pool
from tests.compute.worker.scenarios import deployed
from tests.factories import RegionFactory

pytestmark = pytest.mark.django_db


def pool(region, kind: str, network: str, gateway: str) -> AddressPool:
    made = AddressPool(region=region, kind=kind, network=network, gateway=gateway)
    add_pool(made)
    return made


def is_in(address: str, networks: list[str]) -> bool:
    found = ip_address(address)
    return any(found in ip_network(each) for each in networks)


def test_a_region_has_the_networks_of_its_pools_without_gateways_and_private_ones():
    region = RegionFactory()
    pool(region, "public", "203.0.113.0/28", "203.0.113.1")
    pool(region, "private", "192.168.129.0/28", "192.168.129.1")
    pool(region, "routed", "2001:db8:50::/48", "fe80::1")
    pool(RegionFactory(id="us-other"), "public", "203.0.113.64/28", "203.0.113.65")
    found = networks_of(region.pk)
    assert found == ["203.0.113.0/32", "203.0.113.2/31", "203.0.113.4/30", "203.0.113.8/29", "2001:db8:50::/48"]


def test_a_slaac_pool_counts_with_the_addresses_of_instances():
    region = RegionFactory()
    network = pool(region, "slaac", "2001:db8:77::/64", "fe80::1").network
    found = networks_of(region.pk)
    assert all(is_in(slaac_address(network, number), found) for number in (1, 1 << 23, (1 << 32) - 1))
    assert not is_in("2001:db8:77::201", found)
    assert not is_in("2001:db8:77:0:5054:ff:fe12:3456", found)


def test_a_host_with_an_address_of_a_routed_pool_is_not_dropped():
    region = RegionFactory()
    pool(region, "routed", "2001:db8:50::/48", "fe80::1")
    Host.objects.create(label="hv9", region=region, location="ssh://root@[2001:db8:50::7]/srv")
    found = networks_of(region.pk)
    assert not is_in("2001:db8:50::7", found)
    assert is_in("2001:db8:50::6", found)
    assert is_in("2001:db8:50::8", found)


@pytest.mark.parametrize(
    ("underlay", "location"), [("203.0.113.2", "ssh://root@hv1/srv"), (None, "ssh://root@203.0.113.2/srv")]
)
def test_a_pool_with_a_host_in_it_counts_for_the_addresses_that_instances_hold(world, driver, underlay, location):
    mixed = pool(world.region, "public", "203.0.113.0/28", "203.0.113.1")
    instance = deployed(world, driver)
    Address.objects.filter(pool=mixed, address="203.0.113.5").update(instance=instance)
    assert is_in("203.0.113.9", networks_of(world.region.pk))
    Host.objects.create(label="hv9", region=world.region, underlay=underlay, location=location)
    found = networks_of(world.region.pk)
    networks = [each for each in found if is_in(each.partition("/")[0], [mixed.network])]
    assert networks == ["203.0.113.5/32"]
