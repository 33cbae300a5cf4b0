"""What load balancers lose when private addresses go, whoever gives them back and why."""

from collections.abc import Mapping

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_events
from compute.models import Address, NodeBalancer, NodeBalancerNode
from compute.refs import balancer_ref, node_ref


def drop_nodes(rows: QuerySet[Address]) -> None:
    """Delete every node that sends traffic to one of these private addresses, with an event for each.

    Runs in the transaction that gives the addresses back and holds their instances, as whoever adds a node does
    too: none can appear for an address that is going. Load balancers are locked after instances, in order.
    """
    going = dict(rows.filter(public=False, instance__isnull=False).order_by().values_list("address", "instance_id"))
    concerned = {node.config.nodebalancer_id for node in _nodes_of(going)}
    if not concerned:
        return
    locked = NodeBalancer.objects.filter(pk__in=concerned).order_by("pk").select_for_update(no_key=True)
    balancers = {balancer.pk: balancer for balancer in locked}
    # read again, now that they are locked: meanwhile one may have gone, or have got another address
    lost = [node for node in _nodes_of(going) if node.config.nodebalancer_id in balancers]
    if not lost:
        return
    records = (
        (
            balancer_ref(balancers[node.config.nodebalancer_id]), node_ref(node),
            f"Its address {node.address} was given back.",
        )
        for node in lost
    )  # fmt: skip
    # all of one account, as what they send to is
    account_id = balancers[lost[0].config.nodebalancer_id].account_id
    record_events(Actor.platform(account_id), "nodebalancer_node_delete", records)
    NodeBalancerNode.objects.filter(pk__in=[node.pk for node in lost]).delete()
    changed = {node.config.nodebalancer_id for node in lost}
    NodeBalancer.objects.filter(pk__in=changed).update(version=F("version") + 1, updated=Now())


def _nodes_of(going: Mapping[str, int]) -> list[NodeBalancerNode]:
    """The nodes with one of these addresses, each with the instance that has it."""
    if not going:
        return []
    nodes = NodeBalancerNode.objects.filter(instance__in=going.values()).select_related("config").order_by("pk")
    return [node for node in nodes if node.address.partition(":")[0] in going]
