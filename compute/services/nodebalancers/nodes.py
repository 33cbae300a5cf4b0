"""The nodes of load balancers: the private addresses and ports that traffic is sent to."""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.models import Address, AddressPool, Instance, NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.refs import balancer_ref, node_ref
from compute.services.common.locks import lock_unread
from config.db.rows import lock
from config.errors import Missing, Problems

MAX_NODES = 255
"""The most nodes of one config."""
FIELDS = ("label", "address", "weight", "mode")
NOT_IN_REGION = "The address has to be a private IPv4 address of a compute of the account in this region."


@dataclass(frozen=True, slots=True)
class AddressOwners:
    """The keys of a region's instances, by those of their private addresses that a request names."""

    region_id: str | None
    instances: Mapping[str, int] = field(default_factory=dict)

    def refusal(self, address: str) -> str:
        """Return the reason why no node can have this address, which none of the instances has."""
        pools = AddressPool.objects.filter(region=self.region_id, kind=AddressPool.Kind.PRIVATE).order_by("pk")
        networks = [ipaddress.IPv4Network(network) for network in pools.values_list("network", flat=True)]
        if not networks or any(ipaddress.IPv4Address(address) in network for network in networks):
            return NOT_IN_REGION
        whole = str(networks[0].network_address).split(".")[: max(networks[0].prefixlen // 8, 1)]
        return f"Must begin with {'.'.join(whole)}"


@dataclass(frozen=True, slots=True)
class NodeWish:
    """A client's request for a node; None for fields that are not given. `id` names an existing node (rebuild)."""

    label: str | None = None
    address: str | None = None
    weight: int | None = None
    mode: str | None = None
    id: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Return the given columns, with a valid address in its usual spelling."""
        values = {name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}
        if spelled := _spelled(self.address):
            values["address"] = spelled
        return values


@transaction.atomic
def create(
    actor: Actor, config: NodeBalancerConfig, wish: NodeWish, problems: Problems | None = None
) -> NodeBalancerNode:
    """Add a node. Raises `Invalid` on ``address`` if no compute has it, or if a node of the config has it
    already."""
    owners = lock_instances(actor, config.nodebalancer.region_id, [wish])
    balancer, config = lock_config(config)
    present = list(config.nodes.all())
    problems = problems or Problems()
    if len(present) >= MAX_NODES:
        problems.add(None, f"A config has at most {MAX_NODES} nodes.")
    node = draft(NodeBalancerNode(config=config), wish, owners, problems)
    check_distinct([*present, node], problems)
    problems.raise_any()
    node.save(force_insert=True)
    moved_on(balancer)
    record_event(actor, "nodebalancer_node_create", balancer_ref(balancer), node_ref(node))
    return node


@transaction.atomic
def update(
    actor: Actor, node: NodeBalancerNode, wish: NodeWish, problems: Problems | None = None
) -> NodeBalancerNode:
    """Write the values that differ, with an event if any do. Returns the node anew.

    An unchanged address is not checked again. A node with a new address begins with an unknown status.
    """
    owners = lock_instances(actor, node.config.nodebalancer.region_id, [wish])
    balancer, config = lock_config(node.config)
    present = list(config.nodes.all())
    locked = next((each for each in present if each.pk == node.pk), None)
    if locked is None:
        raise Missing
    locked.config = config
    before = {name: getattr(locked, name) for name in (*FIELDS, "instance_id", "status")}
    problems = problems or Problems()
    draft(locked, wish, owners, problems)
    check_distinct(present, problems)
    problems.raise_any()
    # a status that was just reported stays, unless this update changes it
    changed = [name for name, value in before.items() if getattr(locked, name) != value]
    if changed:
        locked.save(update_fields=[*changed, "updated"])
        moved_on(balancer)
        record_event(actor, "nodebalancer_node_update", balancer_ref(balancer), node_ref(locked))
    return locked


@transaction.atomic
def delete(actor: Actor, node: NodeBalancerNode) -> None:
    """Delete a node, which gets no more traffic. Raises `Missing` if another request was first."""
    balancer, config = lock_config(node.config)
    if not config.nodes.filter(pk=node.pk).exists():
        raise Missing
    moved_on(balancer)
    record_event(actor, "nodebalancer_node_delete", balancer_ref(balancer), node_ref(node))
    node.delete()


# --- for the services of configs and balancers --------------------------------------------------------------


def lock_instances(actor: Actor, region_id: str | None, wishes: Iterable[NodeWish]) -> AddressOwners:
    """Return the owners of the named private addresses, among the region's instances that the actor sees.

    The instances are locked, before any load balancer is, so that none of the addresses is released meanwhile.
    """
    named = {spelled.partition(":")[0] for wish in wishes if (spelled := _spelled(wish.address))}
    if not named or region_id is None:
        return AddressOwners(region_id)
    seen = Instance.objects.visible_to(actor).filter(region=region_id).values("pk")
    rows = Address.objects.filter(address__in=named, public=False, region=region_id, instance__in=seen)
    wanted = rows.order_by().values("instance")
    lock_unread(wanted)
    return AddressOwners(region_id, dict(rows.order_by().values_list("address", "instance_id")))


def lock_config(config: NodeBalancerConfig) -> tuple[NodeBalancer, NodeBalancerConfig]:
    """Lock the config's load balancer; returns it and the config, read anew. Raises `Missing` if either is gone."""
    balancer = lock(NodeBalancer.objects.filter(pk=config.nodebalancer_id))
    locked = NodeBalancerConfig.objects.filter(pk=config.pk, nodebalancer=balancer).first()
    if locked is None:
        raise Missing
    locked.nodebalancer = balancer
    return balancer, locked


def moved_on(balancer: NodeBalancer) -> None:
    """Raise the version of the locked load balancer, since it or its configs or nodes have changed."""
    balancer.version += 1
    balancer.save(update_fields=["version", "updated"])


def draft(
    node: NodeBalancerNode, wish: NodeWish, owners: AddressOwners, problems: Problems, path: str = ""
) -> NodeBalancerNode:
    """Set the given fields on a node, and note invalid and missing ones, with their names after `path`."""
    given = wish.given
    for name in ("label", "address"):
        if node.pk is None and name not in given and f"{path}{name}" not in problems:
            problems.add(path + name, f"{name} is required")
    if given.get("address", node.address) != node.address:
        spelled = _spelled(wish.address)
        owner = owners.instances.get(spelled.partition(":")[0]) if spelled else None
        if spelled is None:
            problems.add(f"{path}address", "address is not valid")
        elif owner is None and owners.region_id is not None:
            problems.add(f"{path}address", owners.refusal(spelled.partition(":")[0]))
        else:
            node.instance_id = owner or 0  # without a region, which failed before, nobody's
            node.status = NodeBalancerNode.Status.UNKNOWN
    for name, value in given.items():
        setattr(node, name, value)
    if node.mode == NodeBalancerNode.Mode.REJECT:
        # a rejected node is not checked
        node.status = NodeBalancerNode.Status.UNKNOWN
    return node


def check_distinct(nodes: Sequence[NodeBalancerNode], problems: Problems, path: str = "address") -> None:
    """Note problems if nodes of one config have the same address; `path` may contain their position as ``{}``."""
    known: set[str] = set()
    for index, node in enumerate(nodes):
        if node.address and node.address in known:
            problems.add(path.format(index), "Address must be unique among the nodes of a config")
        known.add(node.address)


def _spelled(address: str | None) -> str | None:
    """Return ``10.0.0.2:80`` as it is stored; None if the text is no IPv4 address and port."""
    ip, colon, port = (address or "").strip().partition(":")
    if not (colon and port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) < 65536):
        return None
    try:
        return f"{ipaddress.IPv4Address(ip)}:{int(port)}"
    except ValueError:
        return None
