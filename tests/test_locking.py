"""Rows are locked in the order of docs/locking.md."""

import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.db import transaction

from compute.drivers.base import Refused
from compute.jobs.definition import KINDS
from config.errors import Invalid
from regions.models import Region
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import staged
from tests.config.api.routes import routes
from tests.factories import ImageFactory
from tests.locks import Edge, Recorder, joined, recorded, touched
from tests.policy import scene_of, status
from tests.world import CAPABILITIES, World, world

__all__ = ["world"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "locking.md"
LINE = re.compile(r"^\| [\w ]+ \| `(\w+)` \|(.*)\|$", re.MULTILINE)
CALLERS = ("owner", "r/w")


@dataclass
class Order:
    """The table of the page: the owners from the top down, and the tables that belong to them with their
    owners."""

    owners: list[str] = field(default_factory=list)
    owners_of: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def written(cls) -> "Order":
        order = cls()
        for table, belongings in LINE.findall(PAGE.read_text()):
            order.owners.append(table)
            for each in re.findall(r"`(\w+)`", belongings):
                order.owners_of.setdefault(each, set()).add(table)
        return order

    @property
    def tables(self) -> set[str]:
        return {*self.owners, *self.owners_of}

    def violation(self, edge: Edge, gates: frozenset[str]) -> str | None:
        """Return the problem of locking rows of these two tables after rows of `gates`, or None.

        A transaction that keeps the order never waits for rows whose owner this transaction has locked.
        """
        first, then = edge.before, edge.after
        if first in self.owners_of and not self.owners_of[first] & gates:
            return f"nothing that {first} belongs to is locked before it"
        if then in self.owners_of:
            return None if self.owners_of[then] & (gates | {first}) else f"nothing that {then} belongs to is locked"
        if first in self.owners and self.owners.index(first) > self.owners.index(then):
            return f"{then} comes before {first}"
        return None


def call_everything(locks: Recorder, world: World) -> None:
    """Call every operation that writes, as an unrestricted user and as one with the required grants."""
    with transaction.atomic():
        scene = scene_of(world)
        for route in routes():
            for caller in scene.callers:
                if route.method != "get" and caller.name in CALLERS:
                    locks.during = f"{route} ({caller.name})"
                    status(route, scene, caller)
        transaction.set_rollback(True)


def run_everything(locks: Recorder, world: World) -> None:
    """Run a job of every kind to its end. Then run it until its last effect is refused, so that it rolls back."""
    for kind in KINDS:
        effects = run(locks, world, kind)
        run(locks, world, kind, refused=effects - 1)


def run(locks: Recorder, world: World, kind: str, refused: int | None = None) -> int:
    """Run a job of this kind, with the effect of this number refused. Returns the number of effects."""
    with transaction.atomic():
        driver = MemoryDriver()
        locks.during = f"enqueuing {kind}"
        job = staged(kind, world, driver)
        if refused is not None:
            driver.before = failing_at(refused, Refused("Not possible."), times=1)
        locks.during = f"running {kind}" if refused is None else f"unwinding {kind}"
        work(job, driver)
        transaction.set_rollback(True)
    return len(driver.calls)


@pytest.fixture
def locks(world) -> Recorder:
    with recorded() as locks:
        call_everything(locks, world)
        run_everything(locks, world)
    return locks


def misplaced(locks: Recorder, order: Order) -> list[str]:
    """Return a line for each row that was locked after rows of a later table."""
    return [
        f"{edge.before}, then {edge.after} while {during}: {problem}"
        for (edge, gates), during in locks.gates.items()
        if (problem := order.violation(edge, gates))
    ]


def test_rows_are_locked_in_the_order_of_the_page(locks):
    order = Order.written()
    named = {table for edge, _ in locks.gates for table in (edge.before, edge.after)}
    assert named == order.tables, "docs/locking.md lacks a table that is locked, or has one that is not"
    wrong = misplaced(locks, order)
    for (table, gates), during in locks.unordered.items():
        if not gates & order.owners_of.get(table, set()):
            wrong.append(f"rows of {table} in no order while {during}, with {sorted(gates)} locked")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("named", "refused"),
    [
        ({"interfaces": ({"purpose": "vlan", "label": "back", "ipam_address": ""},)}, None),
        ({"backup_id": 1}, "image cannot be combined with backup_id."),
    ],
)
def test_a_create_from_an_own_image_locks_the_account_before_the_image(world, named, refused):
    """The create locks the account because of the VLANs of its profiles or of its backup."""
    Region.objects.filter(pk=world.region.pk).update(capabilities=[*CAPABILITIES, "Vlans"])
    image = ImageFactory(account=world.account, is_public=False)
    with recorded() as locks, pytest.raises(Invalid, match=refused) if refused else nullcontext():
        world.create(image=image.pk, **named)
    assert Edge("accounts_account", "compute_image") in {edge for edge, _ in locks.gates}
    assert misplaced(locks, Order.written()) == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ('SELECT "a" FROM "compute_disk" ORDER BY "id" FOR NO KEY UPDATE', [("lock", "compute_disk")]),
        (
            'SELECT 1 FROM "compute_disk" INNER JOIN "compute_host" T3 ON (1 = 1) FOR UPDATE OF "compute_disk"',
            [("lock", "compute_disk")],
        ),
        (
            "UPDATE compute_job SET a = 1 WHERE id IN (SELECT id FROM compute_job LIMIT 1 FOR UPDATE SKIP LOCKED)",
            [("try", "compute_job")],
        ),
        ("WITH x AS (UPDATE compute_job SET a = 1 RETURNING *) SELECT * FROM x", [("write", "compute_job")]),
        (
            "INSERT INTO compute_disk VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
            [("insert", "compute_disk"), ("write", "compute_disk")],
        ),
        ('DELETE FROM "compute_disk" WHERE id = 1', [("write", "compute_disk")]),
        ('SELECT "updated" FROM "compute_disk"', []),
    ],
)
def test_locks_are_read_from_the_statement(db, sql, expected):
    assert list(touched(sql)) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ('SELECT "a" FROM "compute_disk" WHERE "id" = 1 FOR NO KEY UPDATE', set()),
        ("SELECT FROM compute_disk WHERE id IN (SELECT d.id FROM x JOIN y ON true) FOR UPDATE", set()),
        ("SELECT 1 FROM compute_disk AS d JOIN compute_host AS h ON true FOR UPDATE OF d SKIP LOCKED", set()),
        ("SELECT 1 FROM compute_disk JOIN compute_host ON true", set()),
        (
            'SELECT 1 FROM "compute_disk" INNER JOIN "compute_host" ON (1 = 1) FOR UPDATE OF "compute_disk"',
            {"compute_disk", "compute_host"},
        ),
        (
            "WITH x AS (SELECT 1 FROM compute_disk LEFT JOIN compute_host ON true FOR SHARE) SELECT * FROM x",
            {"compute_disk", "compute_host"},
        ),
    ],
)
def test_joins_of_a_locking_statement_are_found(db, sql, expected):
    assert joined(sql) == expected


@pytest.mark.parametrize(
    ("first", "then", "gates", "fine"),
    [
        ("accounts_account", "compute_instance", (), True),
        ("compute_instance", "accounts_account", (), False),
        ("compute_instance", "compute_disk", (), True),
        ("compute_disk", "compute_instance", (), False),
        ("compute_host", "compute_disk", ("compute_instance",), True),
        ("compute_host", "compute_disk", (), False),
        ("compute_disk", "compute_host", (), False),
    ],
)
def test_the_wrong_way_round_is_found(first, then, gates, fine):
    assert (Order.written().violation(Edge(first, then), frozenset(gates)) is None) is fine
