"""Load balancers: creating, changing and deleting them.

Every write of a load balancer, its configs or its nodes locks the load balancer's row and raises its version.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.actors import Actor
from accounts.services import quotas
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.grants import forget_entity, grant_creator
from compute.models import Address, AddressPool, NodeBalancer
from compute.refs import balancer_config_ref, balancer_ref
from compute.services.common.labels import NewLabel
from compute.services.common.regions import check_region
from compute.services.networking.addresses import release, take_for_balancer
from compute.services.nodebalancers.configs import MAX_CONFIGS, ConfigWish, check_configs, insert_config
from compute.services.nodebalancers.nodes import lock_instances
from compute.services.usage.recording import record
from config.db.inserts import draw_keys
from config.db.rows import differing, lock, write
from config.db.unique import note_taken
from config.errors import Problems
from regions.models import Region
from tags.services import check_tags, differing_tags, set_tags, untag

CAPABILITY = "NodeBalancers"
IPV6_MARK = 0x6E62
"""The first 16 bits of the lower 64 bits of load balancers' IPv6 addresses. Instances' begin with others
(`interface_id`)."""


@dataclass(frozen=True, slots=True)
class NodeBalancerSpec:
    """A client's request for a load balancer; None for fields that are not given, or that failed a check before."""

    region: str | None = None
    label: str | None = None
    client_conn_throttle: int | None = None
    tags: Sequence[str] | None = None
    configs: Sequence[ConfigWish] = field(default=())


def create(actor: Actor, spec: NodeBalancerSpec, problems: Problems | None = None) -> NodeBalancer:
    """Create a load balancer, with its configs and their nodes, and an address of its own.

    Raises `Invalid` with every failing field (``configs[0].nodes[1].address``), and without a field if the account
    has reached its limit in the region. Everything is written, or nothing.
    """
    label = NewLabel(NodeBalancer, actor.account_id, spec.label)
    while True:
        try:
            return _create(actor, spec, problems, label)
        except IntegrityError as error:
            label.retry_after(error)


@transaction.atomic
def _create(actor: Actor, spec: NodeBalancerSpec, problems: Problems | None, label: NewLabel) -> NodeBalancer:
    account = lock_account(actor.account_id)
    instances = lock_instances(actor, spec.region, [node for wish in spec.configs for node in wish.nodes])
    problems = problems or Problems()
    if spec.region is not None:
        check_region(Region.objects.filter(pk=spec.region).first(), CAPABILITY, problems)
    if spec.tags:
        check_tags(actor, spec.tags, problems)
    if len(spec.configs) > MAX_CONFIGS:
        problems.add("configs", f"A nodebalancer has at most {MAX_CONFIGS} configs.")
    drafts = check_configs(spec.configs[:MAX_CONFIGS], instances, problems)
    note_taken(NodeBalancer(account_id=actor.account_id, label=spec.label or ""), problems)
    region = problems.checked(spec.region)
    there = NodeBalancer.objects.filter(account=account, region=region)
    quotas.compare("nodebalancers", account.quotas, there)
    balancer = _make(actor, spec, region, label)
    record_event(actor, "nodebalancer_create", balancer_ref(balancer))
    for config, nodes in drafts:
        insert_config(balancer, config, nodes)
        record_event(actor, "nodebalancer_config_create", balancer_ref(balancer), balancer_config_ref(config))
    record(account.pk, nodebalancers=[balancer.pk])
    return balancer


@transaction.atomic
def update(
    actor: Actor,
    balancer: NodeBalancer,
    given: dict[str, Any],
    tags: Sequence[str] | None = None,
    problems: Problems | None = None,
) -> NodeBalancer:
    """Write the `given` columns and `tags` that differ, with an event if any do. Returns the row anew."""
    locked = lock(NodeBalancer.objects.filter(pk=balancer.pk))
    problems = problems or Problems()
    fresh = differing_tags(tags, locked.tags)
    if fresh is not None:
        check_tags(actor, fresh, problems)
    if "label" in given:
        note_taken(NodeBalancer(pk=locked.pk, account_id=locked.account_id, label=given["label"]), problems)
    problems.raise_any()
    wanted = differing(locked, given)
    if fresh is not None:
        wanted["tags"] = set_tags(locked.account_id, "nodebalancer", locked.pk, fresh)
    if wanted:
        write(locked, {**wanted, "version": locked.version + 1}, "updated")
        record_event(actor, "nodebalancer_update", balancer_ref(locked))
    return locked


@transaction.atomic
def delete(actor: Actor, balancer: NodeBalancer) -> None:
    """Delete a load balancer with its configs and nodes; its address is released. Raises `Missing` if it is
    gone."""
    locked = lock(NodeBalancer.objects.filter(pk=balancer.pk))
    release(Address.objects.filter(nodebalancer=locked))
    forget_entity("nodebalancer", locked.pk)
    untag("nodebalancer", locked.pk)
    record_event(actor, "nodebalancer_delete", balancer_ref(locked))
    locked.delete()
    record(locked.account_id, check=False, nodebalancers=[balancer.pk])


def _make(actor: Actor, spec: NodeBalancerSpec, region_id: str, label: NewLabel) -> NodeBalancer:
    """Insert the row with its address: the key is drawn first, since the label and the address need it."""
    (key,) = draw_keys(NodeBalancer)
    ipv4 = take_for_balancer(region_id, key)
    balancer = NodeBalancer(
        pk=key,
        account_id=actor.account_id,
        label=label.of(key),
        region_id=region_id,
        hostname=f"{ipv4.replace('.', '-')}.{settings.PLATFORM_DOMAIN}",
        ipv4=ipv4,
        ipv6=_ipv6_in(region_id, key),
        client_conn_throttle=spec.client_conn_throttle or 0,
    )
    if spec.tags:
        balancer.tags = set_tags(actor.account_id, "nodebalancer", key, list(spec.tags))
    balancer.save(force_insert=True)
    grant_creator(actor, "nodebalancer", key)
    return balancer


def _ipv6_in(region_id: str, balancer_id: int) -> str | None:
    """Return the balancer's address in the region's /64, which follows from its id; None if the region has no
    IPv6."""
    pools = AddressPool.objects.filter(region_id=region_id, kind=AddressPool.Kind.SLAAC)
    network = pools.order_by("pk").values_list("network", flat=True).first()
    return None if network is None else str(ipaddress.IPv6Network(network)[IPV6_MARK << 48 | balancer_id])
