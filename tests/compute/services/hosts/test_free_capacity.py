"""Regions and types that are full for an existing instance."""

import pytest

from compute.models import Host, Instance
from compute.services.hosts.free_capacity import full_regions, full_types
from compute.services.hosts.placement import place
from tests.factories import HostFactory, InstanceFactory, InstanceTypeFactory, RegionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    """An instance whose host has exactly the capacity that it takes."""
    plan = world.type
    Host.objects.filter(pk=world.host.pk).update(memory=plan.memory, vcpus=plan.vcpus, disk=plan.disk)
    made = InstanceFactory(account=world.account, region=world.region, host=world.host, type=plan)
    place(made, plan, world.region.pk)
    return made


def test_a_region_is_full_if_no_open_host_of_the_same_driver_fits(world, instance):
    for region, fields in {
        "small": {"memory": 1024}, "closed": {"enabled": False}, "other": {"driver": "qemu"}, "free": {},
    }.items():  # fmt: skip
        HostFactory(region=RegionFactory(id=region), **fields)
    RegionFactory(id="empty")
    full = full_regions(instance, [world.type.pk])
    assert full == {world.region.pk, "small", "closed", "other", "empty"}


def test_a_region_with_room_for_one_of_the_types_is_not_full(world, instance):
    InstanceTypeFactory(id="tiny", memory=512)
    HostFactory(region=RegionFactory(id="small"), memory=1024)
    assert "small" in full_regions(instance, [world.type.pk])
    assert "small" not in full_regions(instance, [world.type.pk, "tiny"])


def test_a_type_fits_where_its_own_reservation_is_enough(world, instance):
    larger = InstanceTypeFactory(id="larger", memory=world.type.memory * 2)
    smaller = InstanceTypeFactory(id="smaller", memory=512)
    types = [world.type.pk, larger.pk, smaller.pk]
    assert full_types(instance, types) == {larger.pk}
    HostFactory(region=world.region, memory=larger.memory)
    assert full_types(instance, types) == set()


def test_hosts_of_other_regions_have_no_room_for_a_type(world, instance):
    larger = InstanceTypeFactory(id="larger", memory=world.type.memory * 2)
    HostFactory(region=RegionFactory(id="us-other"))
    assert full_types(instance, [larger.pk]) == {larger.pk}
