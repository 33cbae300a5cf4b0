"""The region of this machine: its host and its address pools."""

import pytest

from compute.models import AddressPool, Host
from compute.services.hosts.this_machine import CAPABILITIES, HOST, NO_FREE_NETWORK, REGION, ensure
from config.errors import Busy
from regions.models import Region
from tests.factories import RegionFactory

pytestmark = pytest.mark.django_db


def networks(region: str) -> list[tuple[str, str]]:
    return list(AddressPool.objects.filter(region=region).order_by("kind").values_list("kind", "network"))


def test_the_region_the_host_and_the_pools_are_created_once():
    first = ensure("qemu", "/srv/vms", "/srv/shared")
    assert ensure("qemu", "/srv/vms", "/srv/shared") == first
    assert (first.label, first.region_id, first.enabled) == (HOST, REGION, False)
    assert Region.objects.get(pk=REGION).capabilities == CAPABILITIES
    assert networks(REGION) == [("public", "198.19.240.0/24"), ("slaac", "2001:db8:1fff:ffff::/64")]


def test_a_directory_that_moved_is_updated():
    first = ensure("qemu", "/old", "/old/shared")
    second = ensure("qemu", "/new", "/new/shared")
    assert first == second
    assert list(Host.objects.values_list("location", "shared")) == [("/new", "/new/shared")]


def test_networks_of_other_regions_are_skipped():
    other = RegionFactory(id="elsewhere")
    AddressPool.objects.create(region=other, kind="public", network="198.19.240.0/23", gateway="198.19.240.1")
    ensure("qemu", "/here", "/here/shared")
    assert ("public", "198.19.242.0/24") in networks(REGION)


def test_without_a_free_network_nothing_is_created():
    other = RegionFactory(id="elsewhere")
    AddressPool.objects.create(region=other, kind="public", network="198.19.240.0/20", gateway="198.19.240.1")
    with pytest.raises(Busy, match=NO_FREE_NETWORK[:20]):
        ensure("qemu", "/here", "/here/shared")
    assert not Region.objects.filter(pk=REGION).exists()
    assert not Host.objects.exists()
