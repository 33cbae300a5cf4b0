"""Fields of managed, of domains and their records, and of load balancers."""

from typing import Any

from compute.models import NodeBalancerConfig
from tests.factories import CredentialFactory, DomainFactory, NodeBalancerFactory
from tests.policy import Scene


def taken_credential(scene: Scene) -> str:
    """Return the label of another credential of the account."""
    return CredentialFactory(account=scene.account, label="taken").label


def service(scene: Scene) -> dict[str, Any]:
    return {"label": "wrong\n!", "address": "127.0.0.1:5432", "credentials": [0], "region": "nowhere"}


# whether an address is valid depends on the protocol
SERVICE = [("service_type", "address")]


def taken_domain(scene: Scene) -> str:
    """Return the name of another domain of the account, with a capital letter."""
    DomainFactory(account=scene.account, label="taken.example.com")
    return "Taken.example.com"


def slave(scene: Scene) -> dict[str, Any]:
    masters = {"type": "slave", "master_ips": ["192.0.2.1"]}
    return {"domain": "new.example.com", "soa_email": "dns@example.com", **masters}


def domain(scene: Scene) -> dict[str, Any]:
    long = [f"2001:db8:1111:2222:3333:4444:5555:{number:x}" for number in range(0x1000, 0x1030)]
    return {
        "domain": taken_domain(scene), "soa_email": "müller@example.com", "master_ips": long, "axfr_ips": long,
        "tags": ["x"],
    }  # fmt: skip


def another_balancer(scene: Scene) -> str:
    """Return the label of another load balancer of the account."""
    return NodeBalancerFactory(account=scene.account, region=scene.world.region, label="taken-label").label


def another_config(scene: Scene) -> int:
    """Return the port of another config of the load balancer."""
    balancer = scene.node.config.nodebalancer
    return NodeBalancerConfig.objects.create(nodebalancer=balancer, port=4711).port


WRONG: dict[str, Any] = {
    "POST /v4/nodebalancers": lambda scene: {
        "region": "nowhere",
        "label": another_balancer(scene),
        "tags": ["x"],
        "configs": [{"port": 80, "stickiness": "http_cookie", "protocol": "tcp"}],
    },
    "PUT /v4/nodebalancers/{id}": lambda scene: {"label": another_balancer(scene), "tags": ["x"]},
    "POST /v4/nodebalancers/{nodebalancer_id}/configs": lambda scene: {
        "port": another_config(scene),
        "nodes": [{"label": "web", "address": "192.0.2.1:80"}],
    },
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{id}": lambda scene: {
        "port": another_config(scene),
    },
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{id}/rebuild": lambda scene: {
        "port": another_config(scene),
        "nodes": [{"id": 1}],
    },
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes": lambda scene: {"address": "192.0.2.1:80"},
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{id}": lambda scene: {
        "address": "192.0.2.1:80"
    },
    "POST /v4/domains": domain,
    "PUT /v4/domains/{id}": lambda scene: {**domain(scene), "type": "slave"},
    "POST /v4/domains/import": lambda scene: {"domain": "wrong_.example", "remote_nameserver": "127.0.0.1"},
    "POST /v4/domains/{id}/clone": lambda scene: {"domain": taken_domain(scene)},
    "POST /v4/domains/{domain_id}/records": lambda scene: {"name": "-", "target": "wrong"},
    "PUT /v4/domains/{domain_id}/records/{id}": lambda scene: {"name": "-", "target": "wrong"},
    "POST /v4/managed/contacts": lambda scene: {"name": "wrong\n!", "phone": {"primary": "1" * 33}},
    "PUT /v4/managed/contacts/{id}": lambda scene: {"name": "wrong\n!", "phone": {"secondary": "1" * 33}},
    "POST /v4/managed/credentials": lambda scene: {"label": taken_credential(scene)},
    "PUT /v4/managed/credentials/{id}": lambda scene: {"label": taken_credential(scene)},
    "PUT /v4/managed/compute-settings/{id}": lambda scene: {"ssh": {"ip": "203.0.113.99"}},
    "POST /v4/managed/services": service,
    "PUT /v4/managed/services/{id}": service,
}


def checked(scene: Scene) -> dict[str, Any]:
    """Return the fields of a config that checks the answer's text."""
    return {"check": "http_body", "check_body": "fine"}


FULL_BODIES: dict[str, Any] = {
    "POST /v4/nodebalancers/{nodebalancer_id}/configs": lambda scene: {"port": 65535, **checked(scene)},
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{id}": checked,
    "POST /v4/domains": slave,
    "PUT /v4/domains/{id}": lambda scene: {"master_ips": ["192.0.2.1"]},
}
DEPENDENT: dict[str, list[tuple[str, str]]] = {
    # the type decides the valid targets, and whether mailbox and masters are required
    "POST /v4/domains/{domain_id}/records": [("type", "target")],
    "POST /v4/managed/services": SERVICE,
    "PUT /v4/managed/services/{id}": SERVICE,
}
