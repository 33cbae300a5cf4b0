"""A load balancer in the world's region, next to an instance with the private address ``10.0.0.2``."""

import pytest
from django.test import Client

from accounts.models import Event
from compute.models import Instance, NodeBalancer
from regions.models import Region
from tests.compute.pages.visiting import owner_of
from tests.factories import NodeBalancerFactory


@pytest.fixture
def instance(world) -> Instance:
    Region.objects.filter(pk="us-test").update(capabilities=["Computes", "NodeBalancers"])
    made = world.offline(label="web-1", private_ip=True)
    Event.objects.all().delete()
    return made


@pytest.fixture
def balancer(world, instance) -> NodeBalancer:
    return NodeBalancerFactory(account=world.account, region=world.region, label="edge")


@pytest.fixture
def browser(world, instance) -> Client:
    return owner_of(world)
