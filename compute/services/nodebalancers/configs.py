"""The configs of load balancers: the port of each, and how its traffic is distributed among its nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.refs import balancer_config_ref, balancer_ref
from compute.services.nodebalancers.certificates import read_pair
from compute.services.nodebalancers.nodes import (
    MAX_NODES,
    AddressOwners,
    NodeWish,
    check_distinct,
    draft,
    lock_config,
    lock_instances,
    moved_on,
)
from config.db.rows import lock
from config.display.plurals import counted
from config.encryption import decrypt_json, encrypt_json
from config.errors import Problems

MAX_CONFIGS = 50
"""The most configs of one load balancer."""
REDACTED = "<REDACTED>"
"""The text in answers in place of a certificate and its key. If it is sent back, the present ones stay."""
TAKEN = "Port must be unique among the configs of a nodebalancer"
SETTINGS = (
    "port", "protocol", "algorithm", "stickiness", "check_type", "check_interval", "check_timeout",
    "check_attempts", "check_path", "check_body", "check_passive", "proxy_protocol", "cipher_suite",
)  # fmt: skip
CERTIFICATE = ("ssl_cert", "encrypted", "ssl_commonname", "ssl_fingerprint")

Config = NodeBalancerConfig
Draft = tuple[NodeBalancerConfig, list[NodeBalancerNode]]


@dataclass(frozen=True, slots=True)
class ConfigWish:
    """A client's request for a config: columns, and `cert` and `key` as PEM, None for those that stay as they
    are."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    cert: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    nodes: Sequence[NodeWish] = ()


@transaction.atomic
def create(actor: Actor, balancer: NodeBalancer, wish: ConfigWish, problems: Problems | None = None) -> Config:
    """Add a config, with its nodes if some are given. Raises `Invalid` with every failing field."""
    owners = lock_instances(actor, balancer.region_id, wish.nodes)
    locked = lock(NodeBalancer.objects.filter(pk=balancer.pk))
    ports = list(locked.configs.values_list("port", flat=True))
    problems = problems or Problems()
    if len(ports) >= MAX_CONFIGS:
        problems.add(None, f"A nodebalancer has at most {MAX_CONFIGS} configs.")
    config, nodes = _draft(wish, owners, problems)
    if config.port in ports and "port" not in problems:
        problems.add("port", TAKEN)
    problems.raise_any()
    insert_config(locked, config, nodes)
    moved_on(locked)
    record_event(actor, "nodebalancer_config_create", balancer_ref(locked), balancer_config_ref(config))
    return config


@transaction.atomic
def update(actor: Actor, config: Config, wish: ConfigWish, problems: Problems | None = None) -> Config:
    """Write the values that differ, with an event if any do. Returns the config anew."""
    balancer, locked = lock_config(config)
    problems = problems or Problems()
    changed = _apply(locked, wish, problems)
    _check_port(locked, problems)
    problems.raise_any()
    if changed:
        _save(locked, changed)
        moved_on(balancer)
        record_event(actor, "nodebalancer_config_update", balancer_ref(balancer), balancer_config_ref(locked))
    return locked


@transaction.atomic
def rebuild(actor: Actor, config: Config, wish: ConfigWish, problems: Problems | None = None) -> Config:
    """Replace a config and its nodes; settings that are not given get their defaults.

    Nodes named by their `id` stay, with the given changes; the others are deleted. The certificate stays if none is
    given, since no client can read it to send it again. There is one event for the whole change.
    """
    owners = lock_instances(actor, config.nodebalancer.region_id, wish.nodes)
    balancer, locked = lock_config(config)
    problems = problems or Problems()
    blank = Config()
    defaults = {name: getattr(blank, name) for name in SETTINGS}
    changed = _apply(locked, ConfigWish({**defaults, **wish.fields}, wish.cert, wish.key), problems)
    _check_port(locked, problems)
    present = {node.pk: node for node in locked.nodes.all()}
    for index, each in enumerate(wish.nodes):
        if each.id is not None and each.id not in present:
            problems.add(f"nodes[{index}].id", "id is not valid")
    named = [each.id for each in wish.nodes if each.id in present]
    if len(set(named)) < len(named):
        problems.add("nodes", "A node is named twice.")
    begun = [present.get(each.id or 0) or NodeBalancerNode() for each in wish.nodes]
    nodes = _draft_nodes(begun, wish.nodes, owners, problems)
    problems.raise_any()
    _save(locked, changed)
    _replace_nodes(locked, nodes)
    moved_on(balancer)
    message = f"Rebuilt with {counted(len(nodes), 'node')}."
    entities = balancer_ref(balancer), balancer_config_ref(locked)
    record_event(actor, "nodebalancer_config_update", *entities, message=message)
    return locked


@transaction.atomic
def delete(actor: Actor, config: Config) -> None:
    """Close a port, and delete its nodes. Raises `Missing` if another request was first."""
    balancer, locked = lock_config(config)
    moved_on(balancer)
    record_event(actor, "nodebalancer_config_delete", balancer_ref(balancer), balancer_config_ref(locked))
    locked.delete()


# --- for the service of balancers ---------------------------------------------------------------------------


def check_configs(wishes: Sequence[ConfigWish], owners: AddressOwners, problems: Problems) -> list[Draft]:
    """Draft the rows of a new load balancer's configs and nodes. Problems are noted as ``configs[0].port``."""
    drafts: list[Draft] = []
    ports: set[int] = set()
    for index, wish in enumerate(wishes):
        config, nodes = _draft(wish, owners, problems, f"configs[{index}].")
        if f"configs[{index}].port" not in problems:
            if config.port in ports:
                problems.add(f"configs[{index}].port", TAKEN)
            ports.add(config.port)
        drafts.append((config, nodes))
    return drafts


def insert_config(balancer: NodeBalancer, config: Config, nodes: list[NodeBalancerNode]) -> None:
    """Insert a drafted config and its nodes, under a load balancer that is locked or new."""
    config.nodebalancer = balancer
    config.save(force_insert=True)
    for node in nodes:
        node.config = config
    NodeBalancerNode.objects.bulk_create(nodes)


# --- checks -------------------------------------------------------------------------------------------------


def _draft(wish: ConfigWish, owners: AddressOwners, problems: Problems, path: str = "") -> Draft:
    config = Config()
    _apply(config, wish, problems, path)
    return config, _draft_nodes([NodeBalancerNode() for _ in wish.nodes], wish.nodes, owners, problems, path)


def _draft_nodes(
    nodes: list[NodeBalancerNode],
    wishes: Sequence[NodeWish],
    owners: AddressOwners,
    problems: Problems,
    path: str = "",
) -> list[NodeBalancerNode]:
    if len(wishes) > MAX_NODES:
        problems.add(f"{path}nodes", f"A config has at most {MAX_NODES} nodes.")
        return nodes
    for index, (node, wish) in enumerate(zip(nodes, wishes, strict=True)):
        draft(node, wish, owners, problems, f"{path}nodes[{index}].")
    check_distinct(nodes, problems, f"{path}nodes[{{}}].address")
    return nodes


def _apply(config: Config, wish: ConfigWish, problems: Problems, path: str = "") -> list[str]:
    """Set the given fields on a config, checked against its other fields; returns the columns that differ now."""
    before = {name: getattr(config, name) for name in (*SETTINGS, *CERTIFICATE)}
    for name, value in wish.fields.items():
        setattr(config, name, value)
    if config.protocol == Config.Protocol.TCP and config.stickiness == Config.Stickiness.HTTP_COOKIE:
        problems.add(f"{path}stickiness", "A cookie needs the protocol http or https.")
    lacks_text = config.check_type == Config.Check.HTTP_BODY and not config.check_body
    if lacks_text and f"{path}check_body" not in problems:
        problems.add(f"{path}check_body", "check_body is required")
    _apply_certificate(config, wish, problems, path)
    return [name for name, value in before.items() if getattr(config, name) != value]


def _apply_certificate(config: Config, wish: ConfigWish, problems: Problems, path: str) -> None:
    """Set the certificate and key of an https config; one of them may stay. Clear both for other protocols."""
    if config.protocol != Config.Protocol.HTTPS:
        config.ssl_cert = config.encrypted = None
        config.ssl_commonname = config.ssl_fingerprint = ""
        return
    if config.ssl_cert and wish.cert is None and wish.key is None:
        return
    kept = key_of(config)
    cert, key = wish.cert or config.ssl_cert, wish.key or kept
    for name, value in (("ssl_cert", cert), ("ssl_key", key)):
        if not value and path + name not in problems:
            problems.add(path + name, f"{name} is required")
    if not cert or not key:
        return
    pair = read_pair(cert, key, problems, path)
    if pair is None:
        return
    config.ssl_cert, config.ssl_commonname, config.ssl_fingerprint = pair.cert, pair.common_name, pair.fingerprint
    if pair.key != kept:
        config.encrypted = encrypt_json({"key": pair.key})


def key_of(config: Config) -> str | None:
    """Return the private key of a config's certificate; None if it has none, or no encryption key of ours decrypts
    it."""
    if config.encrypted is None:
        return None
    try:
        return decrypt_json(config.encrypted)["key"]
    except InvalidToken:
        return None


def _check_port(config: Config, problems: Problems) -> None:
    others = Config.objects.filter(nodebalancer=config.nodebalancer_id, port=config.port).exclude(pk=config.pk)
    if others.exists():
        problems.add("port", TAKEN)


def _save(config: Config, changed: list[str]) -> None:
    """Write only the changed columns of an existing config: an unchanged key that was just encrypted anew stays so.

    If the config's nodes are no longer monitored, their status becomes unknown.
    """
    config.save(update_fields=[*changed, "updated"])
    if not config.watched:
        config.nodes.update(status=NodeBalancerNode.Status.UNKNOWN)


def _replace_nodes(config: Config, nodes: list[NodeBalancerNode]) -> None:
    """Write these nodes after deleting all others, so that no old address violates the unique constraint."""
    kept = [node for node in nodes if node.pk is not None]
    config.nodes.exclude(pk__in=[node.pk for node in kept]).delete()
    # two nodes that swap addresses would violate the unique constraint, which is checked after each row
    NodeBalancerNode.objects.filter(pk__in=[node.pk for node in kept]).delete()
    for node in nodes:
        node.config = config
        if not config.watched:
            node.status = NodeBalancerNode.Status.UNKNOWN
    NodeBalancerNode.objects.bulk_create(kept)
    NodeBalancerNode.objects.bulk_create([node for node in nodes if node.pk is None])
