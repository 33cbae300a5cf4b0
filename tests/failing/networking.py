"""Fields of volumes, of firewalls, and of addresses."""

from typing import Any

from compute.models import Volume
from tests.factories import FirewallFactory, VolumeFactory
from tests.policy import CLOSED, Scene

RULE = {"protocol": "TCP", "ports": "0", "addresses": {"ipv4": ["0.0.0.0/0"]}, "action": "ACCEPT"}
"""A rule whose ports are invalid."""


def another_firewall(scene: Scene) -> str:
    """Return the label of another firewall of the account."""
    return FirewallFactory(account=scene.account, label="taken-label").label


def another_volume(scene: Scene) -> str:
    """Return the label of another volume of the account."""
    if not Volume.objects.filter(account=scene.account, label="taken").exists():
        VolumeFactory(account=scene.account, region=scene.world.region, label="taken")
    return "taken"


def nowhere(scene: Scene) -> dict[str, Any]:
    """Return an assignment of an address that does not exist."""
    return {
        "region": "no-such",
        "assignments": [{"address": "198.18.99.99", "compute_id": scene.compute.pk}],
    }


WRONG: dict[str, Any] = {
    "POST /v4/networking/firewalls": lambda scene: {
        "label": another_firewall(scene),
        "rules": {**CLOSED, "inbound": [RULE]},
        "tags": ["x"],
        "devices": {"computes": [0]},
    },
    "PUT /v4/networking/firewalls/{id}": lambda scene: {"label": another_firewall(scene), "tags": ["x"]},
    "PUT /v4/networking/firewalls/{id}/rules": lambda scene: {"inbound": [RULE], "outbound": [RULE]},
    "POST /v4/networking/firewalls/{firewall_id}/devices": lambda scene: {"id": 0},
    "POST /v4/volumes": lambda scene: {
        "label": another_volume(scene),
        "size": 9,
        "region": "no-such",
        "compute_id": 0,
        "config_id": 0,
        "tags": ["x"],
    },
    "PUT /v4/volumes/{id}": lambda scene: {"label": another_volume(scene), "tags": ["x"]},
    "POST /v4/volumes/{id}/attach": lambda scene: {"compute_id": 0, "config_id": 0},
    "POST /v4/volumes/{id}/clone": lambda scene: {"label": another_volume(scene)},
    "POST /v4/volumes/{id}/resize": lambda scene: {"size": 19},
    "POST /v4/networking/ips": lambda scene: {"compute_id": 0},
    "PUT /v4/networking/ips/{id}": lambda scene: {"rdns": "no-host"},
    "PUT /v4/compute/instances/{compute_id}/ips/{id}": lambda scene: {"rdns": "no-host"},
    "POST /v4/networking/ips/assign": nowhere,
    "POST /v4/networking/ipv4/assign": nowhere,
    "POST /v4/networking/ips/share": lambda scene: {"compute_id": 0, "ips": ["198.18.99.99"]},
    "POST /v4/networking/ipv4/share": lambda scene: {"compute_id": 0, "ips": ["198.18.99.99"]},
    "POST /v4/networking/ipv6/ranges": lambda scene: {"prefix_length": 60, "compute_id": 0},
}
FULL_BODIES: dict[str, Any] = {
    "POST /v4/volumes": lambda scene: {
        "label": "another",
        "region": scene.world.region.pk,
        "compute_id": scene.compute.pk,
        "config_id": scene.config.pk,
    },
    "POST /v4/volumes/{id}/attach": lambda scene: {"compute_id": scene.compute.pk, "config_id": scene.config.pk},
}
DEPENDENT: dict[str, list[tuple[str, str]]] = {
    # the instance decides which profiles are valid
    "POST /v4/volumes": [("compute_id", "config_id")],
    "POST /v4/volumes/{id}/attach": [("compute_id", "config_id")],
}
