"""Deletion of an instance, and of everything that the instance had."""

from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, Grant
from compute.models import Address, FirewallDevice, Instance, NodeBalancer, NodeBalancerNode, Volume
from compute.services.removal import remove
from managed.models import ComputeSettings
from tags.models import Tag, Tagging
from tests.factories import (
    FirewallFactory,
    GrantFactory,
    NodeBalancerConfigFactory,
    NodeBalancerNodeFactory,
    UserFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db


def with_neighbours(world, number: int) -> Instance:
    """Create an instance with `number` of each thing that it may have several of."""
    tags = [f"{number}-tag-{n}" for n in range(number)]
    instance = world.create(label=f"has-{number}", private_ip=True, tags=tags)
    private = Address.objects.get(instance=instance, public=False)
    for n in range(number):
        VolumeFactory(account=world.account, region=world.region, instance=instance)
        FirewallFactory(account=world.account, on=instance, status="disabled" if n else "enabled")
        GrantFactory(user=UserFactory(account=world.account, restricted=True), entity_id=instance.pk)
        config = NodeBalancerConfigFactory(nodebalancer__account=world.account, nodebalancer__region=world.region)
        NodeBalancerNodeFactory(config=config, instance=instance, address=f"{private.address}:80")
    instance.configs.update(interfaces=[{"purpose": "vlan", "label": f"vlan-{n}"} for n in range(number)])
    ComputeSettings.objects.create(instance=instance)
    Event.objects.all().delete()
    return instance


def test_a_removal_releases_and_reports_all_related_objects(world):
    instance = with_neighbours(world, 2)
    versions = Counter(NodeBalancer.objects.values_list("version", flat=True))
    remove(instance)
    for model in (Tagging, Grant, FirewallDevice, NodeBalancerNode, ComputeSettings):
        assert not model.objects.exists()
    assert not Address.objects.exclude(instance=None).exists()
    assert Volume.objects.filter(instance=None).count() == Tag.objects.count() == 2
    assert Counter(version - 1 for version in NodeBalancer.objects.values_list("version", flat=True)) == versions
    events = Event.objects.order_by("pk").values_list("action", "message", "username")
    assert Counter(events) == {
        ("nodebalancer_node_delete", "Its address 10.0.0.2:80 was given back.", ""): 2,
        ("volume_detach", "The compute was deleted.", ""): 2,
        ("firewall_device_remove", "The compute was deleted.", ""): 2,
        ("vlan_detach", "The compute was deleted.", ""): 2,
    }


def test_it_takes_as_many_queries_however_much_there_is(world):
    counts = []
    for number in (1, 4):
        instance = with_neighbours(world, number)
        with CaptureQueriesContext(connection) as queries:
            remove(instance)
        counts.append(len(queries))
    assert counts[0] == counts[1]
