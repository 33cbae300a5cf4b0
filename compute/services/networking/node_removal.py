"""Removing nodes from load balancers when any caller releases their private addresses."""

from collections.abc import Mapping

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_events
from compute.models import Address, NodeBalancer, NodeBalancerNode
from compute.refs import balancer_ref, node_ref


def drop_nodes(rows: QuerySet[Address]) -> None:
    """Delete every node that sends traffic to one of these private addresses, with an event for each.

    Runs in the transaction that releases the addresses and has locked their instances. A request that adds a node
    locks these instances too, so no node can be added for an address that is being released. Load balancers are
    locked after instances, in the order of their keys.
    """
    going = dict(rows.filter(public=False, instance__isnull=False).order_by().values_list("address", "instance_id"))
    concerned = {node.config.nodebalancer_id for node in _nodes_of(going)}
    if not concerned:
        return
    locked = NodeBalancer.objects.filter(pk__in=concerned).order_by("pk").select_for_update(no_key=True)
    balancers = {balancer.pk: balancer for balancer in locked}
    # read again under the locks: meanwhile a node may have been deleted, or have got another address
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
    # all of one account, as the instances they send to are
    account_id = balancers[lost[0].config.nodebalancer_id].account_id
    record_events(Actor.platform(account_id), "nodebalancer_node_delete", records)
    NodeBalancerNode.objects.filter(pk__in=[node.pk for node in lost]).delete()
    changed = {node.config.nodebalancer_id for node in lost}
    NodeBalancer.objects.filter(pk__in=changed).update(version=F("version") + 1, updated=Now())


def _nodes_of(going: Mapping[str, int]) -> list[NodeBalancerNode]:
    """Return the nodes with one of these addresses. `going` maps each address to the instance that has it."""
    if not going:
        return []
    nodes = NodeBalancerNode.objects.filter(instance__in=going.values()).select_related("config").order_by("pk")
    return [node for node in nodes if node.address.partition(":")[0] in going]
