"""An account that has something of everything."""

from typing import Any

import pytest

from accounts.models import Account, User
from tests.factories import (
    FirewallFactory,
    NodeBalancerConfigFactory,
    NodeBalancerFactory,
    NodeBalancerNodeFactory,
    RecordFactory,
    TicketFactory,
    VolumeFactory,
)
from tests.world import World

Filled = tuple[World, dict[str, Any], User]


@pytest.fixture
def filled(world):
    """The world with an instance, and the values of path parameters that lead to it."""
    return fill(world)


def fill(world: World) -> Filled:
    """Add an instance and objects of each kind to the world. Returns it, the values of paths, and its owner."""
    Account.objects.filter(pk=world.account.pk).update(managed=True)
    instance = world.create(label="guarded")
    VolumeFactory(account=world.account, region=world.region, instance=instance)
    values = {"compute_id": instance.pk, "ticket_id": TicketFactory(account=world.account).pk}
    config = NodeBalancerConfigFactory(nodebalancer=NodeBalancerFactory(account=world.account))
    NodeBalancerNodeFactory(config=config, instance=instance)
    values |= {"nodebalancer_id": config.nodebalancer_id, "config_id": config.pk}
    values["domain_id"] = RecordFactory(domain__account=world.account).domain_id
    values["firewall_id"] = FirewallFactory(account=world.account, on=instance).pk
    return world, values, User.objects.get(pk=world.actor.user_id)
