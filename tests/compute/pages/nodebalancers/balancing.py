"""Load balancers with configs, nodes and stats, for tests of their pages."""

from datetime import timedelta
from typing import Any

from django.utils.timezone import now

from accounts.models import Account, Event
from compute.models import (
    Instance,
    NodeBalancer,
    NodeBalancerConfig,
    NodeBalancerNode,
    NodeBalancerSample,
    NodeBalancerTransfer,
)
from compute.services.common.months import month_of
from regions.models import Region
from tests.factories import NodeBalancerConfigFactory, NodeBalancerFactory, NodeBalancerNodeFactory


def add_balancer(account: Account, region: Region, instance: Instance, **fields: Any) -> NodeBalancer:
    """Create a load balancer with stats, transfer and tags. Give it, and each earlier one of the account, a config
    with a node of each status.
    """
    fields = {"tags": ["web", "edge"], "ipv6": "2001:db8:77:0:6e62::1", **fields}
    made = NodeBalancerFactory(account=account, region=region, **fields)
    NodeBalancerTransfer.objects.create(
        nodebalancer=made, month=month_of(now()), received=2_500_000, sent=3_000_000_000
    )
    for number in range(3):
        at = now() - timedelta(minutes=5 * number)
        NodeBalancerSample.objects.create(
            nodebalancer=made, at=at, connections=number + 0.5, traffic_in=2_000_000, traffic_out=400
        )
    for balancer in NodeBalancer.objects.filter(account=account):
        add_config(balancer, instance)
    return made


def add_config(balancer: NodeBalancer, instance: Instance, **fields: Any) -> NodeBalancerConfig:
    """Add a config with a node of each status."""
    config = NodeBalancerConfigFactory(nodebalancer=balancer, check_type="http", **fields)
    for status in NodeBalancerNode.Status.values:
        NodeBalancerNodeFactory(config=config, instance=instance, status=status)
    return config


def balancer_values(balancer: NodeBalancer) -> dict[str, Any]:
    """Return the parameters of the paths below ``/home/load-balancers/<id>/``."""
    config = balancer.configs.earliest("pk")
    return {"balancer_config": config.pk, "node": config.nodes.earliest("pk").pk}


def form_of(answer: Any) -> dict[str, Any]:
    """Return the values with which the form of a page begins, as a browser sends them."""
    form = answer.context["form"]
    found = {field.html_name: field.value() for field in form}
    return {name: value for name, value in found.items() if value is not None and value is not False}


def actions(balancer: NodeBalancer | None = None) -> list[str]:
    """Return the actions of the events, of all load balancers or of one, in order."""
    about = {"entity_id": balancer.pk} if balancer else {}
    rows = Event.objects.filter(entity_type="nodebalancer", **about).order_by("pk")
    return list(rows.values_list("action", flat=True))
