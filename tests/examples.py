"""Examples of requests and answers for the OpenAPI document: real requests and answers, with steady values.

The examples are stored in config/api/examples.json, from which the document takes them. `test_examples.py`
writes that file, and compares it with the answers.
"""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils.timezone import now

from compute.models import Address, AddressPool, UsageInterval
from config.api.examples import FILE
from tests import factories
from tests.client import File, document
from tests.config.api.routes import Route
from tests.policy import AROUND, BEFORE, BODIES, Caller, Scene, address, due_to_move, scene_of
from tests.world import STRONG, make_catalogue_world

FIRST_ID, FIRST_MADE_ID = 1001, 2001
"""The first ids of objects of the scene, and of objects that an operation makes.

One more operation, or one more object in the scene, changes no other example. The platform's own objects have
smaller ids.
"""
FIRST_MADE_NUMBER = 101
"""The number in names that factories give within a single operation."""
MAX_ITEMS = 2
"""The maximum number of items of a list in an example."""

RICHER: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "POST /v4/account/users": lambda scene: {"username": "kari", "email": "kari@example.com", "restricted": True},
    "POST /v4/compute/instances": lambda scene: {
        "region": scene.world.region.pk,
        "type": scene.world.type.pk,
        "image": scene.world.image.pk,
        "root_pass": STRONG,
        "label": "web-1",
        "tags": ["web"],
    },
    "POST /v4/compute/instances/{id}/resize": lambda scene: {"type": "g6-standard-2"},
    "POST /v4/compute/stackscripts": lambda scene: {
        "label": "web-server",
        "images": [scene.world.image.pk],
        "script": "#!/bin/sh\napt-get install -y nginx\n",
    },
    "PUT /v4/compute/instances/{id}": lambda scene: {"label": "web-2", "alerts": {"cpu": 0}, "tags": ["web"]},
    "POST /v4/compute/instances/{compute_id}/configs": lambda scene: {
        "label": "web",
        "devices": {"sda": {"disk_id": scene.disk.pk}},
        "interfaces": [{"purpose": "public"}],
    },
    "POST /v4/compute/instances/{id}/rescue": lambda scene: {"devices": {"sda": {"disk_id": scene.disk.pk}}},
    "POST /v4/compute/instances/{id}/boot": lambda scene: {"config_id": scene.config.pk},
    "POST /v4/compute/instances/{id}/reboot": lambda scene: {"config_id": scene.config.pk},
    "POST /v4/compute/instances/{id}/clone": lambda scene: {
        "region": scene.world.region.pk,
        "type": scene.world.type.pk,
        "label": "web-copy",
    },
    "POST /v4/compute/instances/{id}/mutate": lambda scene: {"allow_auto_disk_resize": False},
    "POST /v4/compute/instances/{id}/migrate": lambda scene: {"upgrade": False},
    "POST /v4/domains": lambda scene: {
        "domain": "example.org",
        "type": "master",
        "soa_email": "dns@example.org",
    },
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes": lambda scene: {
        "label": "web-1",
        "address": f"{private_of(scene)}:80",
    },
    "POST /v4/profile/tokens": lambda scene: {"label": "ci", "scopes": "computes:read_write volumes:read_only"},
    "POST /v4/tags": lambda scene: {"label": "production"},
    "POST /v4/networking/firewalls": lambda scene: {
        "label": "web",
        "rules": {
            "inbound_policy": "DROP",
            "outbound_policy": "ACCEPT",
            "inbound": [
                {
                    "label": "https",
                    "protocol": "TCP",
                    "ports": "443",
                    "action": "ACCEPT",
                    "addresses": {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]},
                }
            ],
        },
    },
    "POST /v4/volumes": lambda scene: {"label": "data", "region": scene.world.region.pk, "size": 20},
}
"""Bodies that show more than those of the table of permissions (`tests.policy`)."""


def metered(scene: Scene) -> None:
    """Give the account usage of its compute in this month."""
    price = {"price_hourly": "0.0075", "price_monthly": "5"}
    UsageInterval.objects.create(
        account=scene.account, kind="compute", resource=scene.compute.pk, label=scene.compute.label,
        region=scene.compute.region_id, type=scene.compute.type_id, quantity=1, **price,
        started=now() - timedelta(hours=720),
    )  # fmt: skip


MORE_BEFORE: dict[str, Callable[[Scene], None]] = {
    "GET /v4/account/maintenance": due_to_move,
    "GET /v4/account/notifications": due_to_move,
    "GET /v4/account/usage": metered,
}
"""Preparations that put an item into a list."""

# Values that differ from run to run, and their replacements. The order matters: the first match is used.
STEADY: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"), "2026-01-02T03:04:05"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "0f8fad5b-d9cb-469f-a165-70867728950e"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0123456789abcdef" * 4),
    (re.compile(r"\b[0-9a-f]{32}\b"), "0123456789abcdef" * 2),
    (re.compile(r"\b[0-9a-f]{20}\b"), "0123456789abcdef0123"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "0123456789abcdef"),
    (
        re.compile(r"(ssh-ed25519 )[A-Za-z0-9+/=]+"),
        r"\1AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S",
    ),
    (re.compile(r"(/uploads/)\S+"), r"\1eyJpbWFnZSI6MTAwMX0"),
    (re.compile(r"\b[A-Z2-7]{32}\b"), "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"),
    (re.compile(r"http://(testserver|127\.0\.0\.1:8000)"), "https://skerry.example"),
)
STEADY_FIELDS: dict[str, Any] = {
    "tfa_code": "123456",
    "scratch": "k3pxp-jbswy",
    "quota": 1000,  # depends on the day of the month
    **dict.fromkeys(("hours", "quantity_hours"), 720.0),
    **dict.fromkeys(("amount", "total"), 5.0),
}
"""Fields whose values differ in each run, in a form that a pattern does not match, with values of the same type."""
OF_OBJECTS = {"address", "compute_id", "config_id", "disk_id", "id"}
"""Fields of requests that contain the id or address of an object of the account."""
TIME = 1767323045000
"""Milliseconds since 1970, in place of any time."""


def example_scene() -> Scene:
    """Create the scene of the examples, on rows of the catalogue, with the same ids and names in each run."""
    restart_sequences(1, 1)
    world = make_catalogue_world()
    restart_sequences(FIRST_ID, 1)
    return scene_of(world)


def restart_sequences(first_id: int, first_number: int) -> None:
    """Set the next ids of rows, and the next number in the names that factories give."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass, %s, false)"
            " FROM pg_sequences WHERE schemaname = current_schema()",
            [first_id],
        )
    for factory in vars(factories).values():
        if isinstance(factory, type) and hasattr(factory, "reset_sequence"):
            factory.reset_sequence(first_number, force=True)


def private_of(scene: Scene) -> str:
    """Return the private address that the compute has during the call (`balancing` of tests/policy.py)."""
    return str(Address.objects.get(pool__kind=AddressPool.Kind.PRIVATE, instance=scene.compute).address)


def body_of(operation: str, scene: Scene) -> dict[str, Any] | File:
    """Return the body for an operation. The default is an empty body."""
    found = RICHER.get(operation) or BODIES.get(operation)
    return found(scene) if found else {}


def exchange(route: Route, scene: Scene, caller: Caller, sent: Any = None) -> tuple[Any, Any]:
    """Send a body, by default the operation's own. Returns the body and the answer. The call is rolled back."""
    operation = operation_of(route)
    with transaction.atomic(), AROUND.get(operation, nullcontext)():
        before(operation, scene)
        path = address(route, scene, caller)
        own = body_of(operation, scene)
        body = own if sent is None else with_own(sent, own)
        call = getattr(caller.api, route.method)
        answer = call(path, body) if route.method in ("post", "put") else call(path)
        transaction.set_rollback(True)
    assert answer.status_code in (200, 204), answer.content
    return own, answer


def before(operation: str, scene: Scene) -> None:
    """Prepare the call."""
    prepare = MORE_BEFORE.get(operation) or BEFORE.get(operation)
    if prepare:
        prepare(scene)


def with_own(sent: Any, own: Any) -> Any:
    """Return a body of the document with valid codes, and with the ids and addresses of this scene."""
    if isinstance(sent, dict):
        replaced = STEADY_FIELDS.keys() | OF_OBJECTS
        return {name: own[name] if name in replaced else with_own(sent[name], own[name]) for name in sent}
    if isinstance(sent, list):
        return [with_own(*each) for each in zip(sent, own, strict=True)]
    return sent


def operation_of(route: Route) -> str:
    return f"{route.method.upper()} {route.documented}"


def example_of(route: Route, scene: Scene, caller: Caller) -> dict[str, Any]:
    """Return the document's example of the operation: a `request` and a `response`, each if it is JSON."""
    restart_sequences(FIRST_MADE_ID, FIRST_MADE_NUMBER)
    body, answer = exchange(route, scene, caller)
    found: dict[str, Any] = {}
    if isinstance(body, dict) and takes_json(route):
        found["request"] = steady(body, most=None)
    if answer.status_code == 200 and answer["Content-Type"] == "application/json":
        found["response"] = steady(answer.json())
    return found


def takes_json(route: Route) -> bool:
    body = document()["paths"][route.documented][route.method].get("requestBody", {})
    return "application/json" in body.get("content", {})


def steady(value: Any, name: str = "", most: int | None = MAX_ITEMS) -> Any:
    """Return the value with steady parts in place of varying ones. Lists are cut to `most` items."""
    if name in STEADY_FIELDS and isinstance(value, type(STEADY_FIELDS[name])):
        return STEADY_FIELDS[name]
    if isinstance(value, dict):
        keys = sorted(value) if name == "global" else value  # grants have no order of their own
        return {key: steady(value[key], key, most) for key in keys}
    if isinstance(value, list):
        return [steady(child, name, most) for child in value[:most]]
    if isinstance(value, str):
        for pattern, instead in STEADY:
            value = pattern.sub(instead, value)
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 10**12:
        return type(value)(TIME)
    return value


def shape(value: Any) -> Any:
    """Return the fields and JSON types of a value. For a list, return those of its items."""
    if isinstance(value, dict):
        return {key: shape(child) for key, child in sorted(value.items())}
    if isinstance(value, list):
        return [shape(child) for child in value[:MAX_ITEMS]]
    if isinstance(value, bool) or value is None:
        return repr(type(value))
    return "number" if isinstance(value, int | float) else "text"


def written() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def write(found: dict[str, Any]) -> None:
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
