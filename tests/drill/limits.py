"""Races for quotas: of many requests at once, exactly as many succeed as there is room for."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from accounts.models import Account
from tests.drill.client import PASSWORD, REGION, TYPES, ask

RACERS, EACH, MAX_MADE = 8, 3, 5
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S drill"
RULES = {"inbound_policy": "DROP", "outbound_policy": "DROP"}
SCRIPT = {"images": ["compute/debian11"], "script": "#!/bin/bash\ntrue"}
RACED: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "managed_services": (
        "/managed/services",
        lambda n: {"service_type": "tcp", "label": f"service-{n}", "address": "203.0.113.7:5432", "timeout": 5},
    ),
    "instances": ("/compute/instances", lambda n: {"label": f"raced-{n}", "type": TYPES[0], "region": REGION}),
    "volumes": ("/volumes", lambda n: {"label": f"raced-{n}", "region": REGION}),
    "managed_credentials": ("/managed/credentials", lambda n: {"label": f"credential-{n}", "password": PASSWORD}),
    "managed_contacts": ("/managed/contacts", lambda n: {"name": f"Contact {n}", "email": f"c{n}@example.com"}),
    "firewalls": ("/networking/firewalls", lambda n: {"label": f"wall-{n}", "rules": RULES}),
    "domains": (
        "/domains",
        lambda n: {"domain": f"raced-{n}.example.com", "type": "master", "soa_email": "dns@example.com"},
    ),
    "tags": ("/tags", lambda n: {"label": f"tag-{n}"}),
    "stackscripts": ("/compute/stackscripts", lambda n: {"label": f"script-{n}", **SCRIPT}),
    "ssh_keys": ("/profile/sshkeys", lambda n: {"label": f"key-{n}", "ssh_key": KEY}),
    "oauth_clients": (
        "/account/oauth-clients",
        lambda n: {"label": f"app-{n}", "redirect_uri": "https://app.example/back"},
    ),
    "users": (
        "/account/users",
        lambda n: {"username": f"raced-{n}", "email": f"raced-{n}@example.com", "restricted": True},
    ),
}
"""The raced quotas: the path and the body that add one thing, with a text that is different each time."""


@dataclass(frozen=True, slots=True)
class Race:
    """The result of racing for one quota: the statuses, and the number of things that were added."""

    name: str
    statuses: dict[int, int]
    added: int

    @property
    def exact(self) -> bool:
        return self.added == MAX_MADE and self.statuses == {200: MAX_MADE, 400: RACERS * EACH - MAX_MADE}


def race_all(port: int, account: Account, token: str) -> list[Race]:
    """Race for each quota in turn, as a user of `account`, which may have `MAX_MADE` more of each than it has."""
    status, answer = ask(port, token, "POST", "/account/settings/managed-enable", {})
    if status != 200:
        raise RuntimeError(f"managed is not enabled: {status} {answer}")
    before = {name: _count(port, token, path) for name, (path, _) in RACED.items()}
    account.quotas = {**account.quotas, **{name: count + MAX_MADE for name, count in before.items()}}
    account.save(update_fields=["quotas"])
    return [_race(port, token, name, before[name]) for name in RACED]


def _race(port: int, token: str, name: str, before: int) -> Race:
    path, body = RACED[name]
    gate = threading.Barrier(RACERS)

    def racer(number: int) -> list[int]:
        gate.wait()
        return [ask(port, token, "POST", path, body(f"{number}-{turn}"))[0] for turn in range(EACH)]

    with ThreadPoolExecutor(RACERS) as pool:
        statuses = Counter(status for each in pool.map(racer, range(RACERS)) for status in each)
    return Race(name, dict(sorted(statuses.items())), _count(port, token, path) - before)


def _count(port: int, token: str, path: str) -> int:
    query = '{"mine": true}' if path == "/compute/stackscripts" else "{}"
    status, answer = ask(port, token, "GET", path, None, **{"X-Filter": query})
    if status != 200:
        raise RuntimeError(f"GET {path} is answered {status}: {answer}")
    return int(answer["results"])
