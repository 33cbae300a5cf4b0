"""Concurrent changes of load balancers: real threads on a real database."""

import threading

import pytest
from django.db import connection, transaction

from accounts.models import Event
from compute.models import Address, NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.services.networking import assign
from compute.services.nodebalancers import configs, nodebalancers, nodes
from compute.services.nodebalancers.configs import ConfigWish
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from compute.services.nodebalancers.nodes import NodeWish
from compute.services.removal import remove
from regions.models import Region
from tests.racing import done, held_up, race

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def balancer(world) -> NodeBalancer:
    Region.objects.update(capabilities=["Computes", "NodeBalancers"])
    return nodebalancers.create(world.actor, NodeBalancerSpec(region=world.region.pk, configs=(ConfigWish(),)))


def add(world, config: NodeBalancerConfig, address: str) -> NodeBalancerNode:
    return nodes.create(world.actor, config, NodeWish(label="node", address=address))


def test_every_balancer_and_instance_has_an_address_of_its_own(world, balancer):
    def act(number: int) -> str:
        if number % 2:
            return world.create(label=f"one-{number}").ipv4[0]
        return nodebalancers.create(world.actor, NodeBalancerSpec(region=world.region.pk)).ipv4

    taken = done(race(act))

    assert len(set(taken)) == len(taken)
    assert not Address.objects.exclude(instance=None).exclude(nodebalancer=None).exists()


def test_a_region_never_has_more_than_it_may(world, balancer, settings):
    settings.NODEBALANCERS = 3
    made = done(race(lambda number: nodebalancers.create(world.actor, NodeBalancerSpec(region=world.region.pk))))
    assert len(made) == 2


def test_no_node_is_added_for_an_address_that_is_going(world, balancer):
    """Depending on the order, the node is refused, or deleted together with the address."""
    instance = world.offline(label="one", private_ip=True)
    config, address = balancer.configs.get(), Address.objects.get(instance=instance, public=False)

    def act(number: int):
        if number == 5:
            return assign.delete(world.actor, address) or "deleted"
        return add(world, config, f"{address.address}:{8000 + number}")

    assert "deleted" in done(race(act))
    assert not NodeBalancerNode.objects.exists()


def test_no_node_remains_for_a_deleted_compute(world, balancer):
    instance = world.offline(label="one", private_ip=True)
    config, ip = balancer.configs.get(), instance.ipv4[1]

    def act(number: int):
        if number == 5:
            with transaction.atomic():
                remove(instance)
            return "removed"
        return add(world, config, f"{ip}:{8000 + number}")

    assert "removed" in done(race(act))
    assert not NodeBalancerNode.objects.exists()


def test_a_node_that_has_moved_on_does_not_go_with_its_old_address(world, balancer):
    one, two = (world.offline(label=label, private_ip=True) for label in ("one", "two"))
    node = add(world, balancer.configs.get(), f"{one.ipv4[1]}:80")
    address = Address.objects.get(instance=one, public=False)

    def give_back() -> None:
        try:
            assign.delete(world.actor, address)
        finally:
            connection.close()

    giving = threading.Thread(target=give_back)
    with transaction.atomic():
        nodes.update(world.actor, node, NodeWish(address=f"{two.ipv4[1]}:80"))
        giving.start()
        assert held_up(), "it waits for the load balancer"
    giving.join()

    assert NodeBalancerNode.objects.get().instance == two
    assert not Event.objects.filter(action="nodebalancer_node_delete").exists()


def test_every_change_moves_the_version_on(world, balancer):
    instance = world.offline(label="one", private_ip=True)
    config, ip, before = balancer.configs.get(), instance.ipv4[1], balancer.version

    def act(number: int):
        if number % 3 == 0:
            return add(world, config, f"{ip}:{8000 + number}")
        if number % 3 == 1:
            return configs.create(world.actor, balancer, ConfigWish({"port": 1000 + number}))
        return configs.update(world.actor, config, ConfigWish({"check_interval": 100 + number}))

    changes = done(race(act))

    balancer.refresh_from_db()
    assert balancer.version == before + len(changes)


def test_one_port_is_given_once(world, balancer):
    made = done(race(lambda number: configs.create(world.actor, balancer, ConfigWish({"port": 443}))))
    assert len(made) == 1
