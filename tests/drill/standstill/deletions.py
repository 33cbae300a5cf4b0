"""Concurrent deletions and attachments: no two transactions lock rows in opposite orders."""

import re
from collections.abc import Callable
from typing import Any

from compute.models import Instance
from tests.drill.client import REGION, Reply
from tests.drill.standstill.customers import Customer, at_once, unfinished, wait_for
from tests.drill.standstill.findings import Findings
from tests.drill.standstill.scene import Scene

DELETED = 20
PAIRS, VOLUMES = 3, 4
DEADLOCK, NOT_UNIQUE = "deadlock detected", "UniqueViolation"


def play(scene: Scene) -> Findings:
    """Race, and search the logs of database and workers for retries."""
    findings = Findings()
    before, violations = len(deadlocks(scene)), _violations(scene)
    for _ in range(scene.form.rounds):
        scene.ensure_crowd(DELETED)
        attached, deleted, pairs = _attach_at_once(scene), _delete_of_one_host(scene), _delete_clones(scene)
        findings.counts |= {"attachments at once": attached, "deletions at once": deleted, "clones deleted": pairs}
        findings.expect(attached and pairs and deleted == DELETED, f"too little was raced: {findings.counts}")
        findings.all_end("deletions at once")
    found, violations = deadlocks(scene)[before:], _violations(scene) - violations
    findings.counts |= {"deadlocks": len(found), "unique violations of workers": violations}
    findings.wrong += [f"deadlock at {each}" for each in found]
    findings.expect(not violations, f"{violations} times {NOT_UNIQUE} in the log of the workers")
    return findings


def _delete_of_one_host(scene: Scene) -> int:
    """Delete many instances of one host. Returns the number of accepted deletions."""
    machines = scene.crowd_on(scene.hosts[0])[:DELETED]
    return _accepted(at_once([_deletes(scene.crowd, pk) for pk in machines], DELETED))


def _accepted(replies: list[Reply]) -> int:
    return sum(status == 200 for status, _ in replies)


def _delete_clones(scene: Scene) -> int:
    """Clone instances, and delete each together with its clone: during the copy, and after it.

    Returns the number of clones.
    """
    sources = scene.crowd_on(scene.hosts[1])[: 2 * PAIRS]
    pairs = []
    for source in sources:
        body = {"region": REGION, "type": "g6-nanode-1", "label": scene.name("clone")}
        status, clone = scene.crowd.try_("POST", f"/compute/instances/{source}/clone", body)
        if status == 200:
            pairs.append((source, int(clone["id"])))
    _delete_all(scene, pairs[:PAIRS])
    wait_for(lambda: not unfinished())
    _delete_all(scene, pairs[PAIRS:])
    return len(pairs)


def _delete_all(scene: Scene, pairs: list[tuple[int, int]]) -> None:
    """Delete until the API accepts each deletion. A source that is being cloned is busy."""
    left = [pk for pair in pairs for pk in pair]

    def gone() -> bool:
        nonlocal left
        left = [pk for pk in left if Instance.objects.filter(pk=pk).exists()]
        at_once([_deletes(scene.crowd, pk) for pk in left], 2 * PAIRS)
        return not left

    wait_for(gone)


def _attach_at_once(scene: Scene) -> int:
    """Detach volumes, attach them elsewhere and grow them, all at the same time.

    Returns the number of accepted requests.
    """
    accepted = 0
    machines = [pk for host in scene.hosts for pk in scene.crowd_on(host)[:2]]
    volumes = [_volume(scene, machines[0]) for _ in range(VOLUMES)]
    wait_for(lambda: not unfinished())
    for turn in range(scene.form.turns):
        calls = [
            _asks(scene.crowd, f"/volumes/{volume}/{verb}", body)
            for volume in volumes
            for verb, body in (
                ("detach", {}),
                ("attach", {"compute_id": machines[(turn + 1) % len(machines)]}),
                ("resize", {"size": 21 + turn}),
                ("attach", {"compute_id": machines[(turn + 2) % len(machines)]}),
            )
        ]
        accepted += _accepted(at_once(calls, VOLUMES * 2))
    wait_for(lambda: not unfinished())
    at_once([_asks(scene.crowd, f"/volumes/{volume}", method="DELETE") for volume in volumes])
    return accepted


def _volume(scene: Scene, instance: int) -> int:
    body = {"label": scene.name("volume"), "size": 20, "compute_id": instance}
    return int(scene.crowd.ask("POST", "/volumes", body)["id"])


def _deletes(customer: Customer, pk: int) -> Callable[[], Any]:
    return _asks(customer, f"/compute/instances/{pk}", method="DELETE")


def _asks(customer: Customer, path: str, body: dict | None = None, method: str = "POST") -> Callable[[], Any]:
    """Return a request that may be refused, because its object may be busy or gone."""
    return lambda: customer.try_(method, path, body)


def deadlocks(scene: Scene) -> list[str]:
    """Return the deadlocks in the log of the database, each with the table whose row was waited for."""
    _, *after = scene.site.postgres.log.read_text(errors="replace").split(DEADLOCK)
    tables = [re.search(r'in relation "(\w+)"', each.split("ERROR:")[0]) for each in after]
    return ["a row of an unknown table" if each is None else each[1] for each in tables]


def _violations(scene: Scene) -> int:
    return scene.site.log.read_text(errors="replace").count(NOT_UNIQUE)
