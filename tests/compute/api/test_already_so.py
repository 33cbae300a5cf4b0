"""Repeated requests: each row of the table in docs/api.md is tried over HTTP."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from accounts.models import Event, User
from compute.drivers.base import DiskSpec, MachineSpec, VolumeSpec
from compute.machine_names import disk_name, machine_name
from compute.models import Instance, Job
from compute.models.volumes import volume_name
from compute.services.networking.addresses import mac_address
from compute.worker.drivers import address_of
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.config.api.routes import Route, routes
from tests.policy import Caller, Scene, address, arranged, body_of, operation_of, scene_of

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api.md"
ROUTES = {operation_of(route): route for route in routes()}
ROW = re.compile(r"^\| `([A-Z]+) (/[^`]+)`( [^|]+)? \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
REASON = re.compile(r"(40[04]) `(.+)`")
OURS = {"accounts", "compute", "managed", "regions", "tags"}


@dataclass(frozen=True)
class Row:
    """A row of the table. `special` names the call of the operation, if it is not the usual one."""

    operation: str
    special: str
    so: str
    answer: str
    event: str

    def __str__(self) -> str:
        return f"{self.operation} {self.special}".strip()


def rows() -> list[Row]:
    found = []
    for method, path, special, *cells in ROW.findall(PAGE.read_text()):
        found.append(Row(f"{method} /v4{path}", (special or "").strip(), *(cell.strip() for cell in cells)))
    return found


TABLE = rows()


@dataclass(frozen=True)
class Call:
    """The call of a row: the preparation `before`, the request, and whether a first such call creates the
    state."""

    before: Callable[[Scene], None] = lambda scene: None
    body: Callable[[Scene], Any] | None = None
    first: bool = True
    works: bool = True
    """Whether the jobs of the first call are run before the second call."""


def stopped(scene: Scene) -> None:
    Instance.objects.filter(pk=scene.compute.pk).update(status="stopped")


def number_verified(scene: Scene) -> None:
    User.objects.update(verified_phone_number="+4740612345")


CALLS: dict[str, Call] = {
    "POST /v4/compute/instances/{id}/migrate with the `region` of the instance": Call(
        body=lambda scene: {"region": scene.compute.region_id}, first=False
    ),
    "POST /v4/compute/instances/{id}/shutdown of a `stopped` instance": Call(before=stopped, first=False),
    "DELETE /v4/compute/instances/{id}": Call(works=False),
    "PUT /v4/networking/firewalls/{id} with the `status` of the firewall": Call(
        body=lambda scene: {"status": "enabled"}, first=False
    ),
    "POST /v4/networking/ips/share of an address of the instance": Call(
        body=lambda scene: {"compute_id": scene.compute.pk, "ips": [scene.address.address]}, first=False
    ),
    "POST /v4/profile/phone-number with a verified number": Call(before=number_verified, first=False),
}
"""Calls that differ from those of `tests.policy`."""


@dataclass
class Trial:
    """Calls of one operation by the owner, and their effects."""

    route: Route
    scene: Scene
    caller: Caller
    driver: MemoryDriver
    seen: set[int] = field(default_factory=set)

    def call(self, body: Any):
        path, send = address(self.route, self.scene, self.caller), getattr(self.caller.api, self.route.method)
        return send(path, body) if self.route.method in ("post", "put") else send(path)

    def new_events(self) -> list[Event]:
        events = list(Event.objects.exclude(pk__in=self.seen).order_by("pk"))
        self.seen |= {event.pk for event in events}
        return events

    def work(self) -> None:
        """Run all jobs to their end."""
        while job := Job.objects.filter(finished_at=None).first():
            assert work(job, self.driver).state == "done", job.error


@pytest.fixture
def trial(request, world, driver) -> Trial:
    """The trial of the row. The driver has the compute's machine and the volume."""
    scene = scene_of(world)
    compute, disk = scene.compute, scene.disk
    there, machine = driver.at(address_of(world.host)), machine_name(compute.pk)
    there.define(MachineSpec(machine, world.type.memory, world.type.vcpus, mac_address(compute.pk)))
    spec = DiskSpec(disk_name(compute.pk, disk.pk), disk.size, disk.filesystem, root_password="before")
    there.create_disk(machine, spec)
    volume = scene.volume
    there.create_volume(VolumeSpec(volume_name(volume.pk), volume.region_id, volume.size, volume.hardware_type))
    route = ROUTES[request.getfixturevalue("row").operation]
    caller = next(each for each in scene.callers if each.name == "owner")
    return Trial(route, scene, caller, driver)


def rows_but_events() -> dict[str, list[dict[str, Any]]]:
    """Return all rows of our tables except events, by table."""
    models = [model for model in apps.get_models() if model._meta.app_label in OURS and model is not Event]
    return {model._meta.db_table: list(model._base_manager.order_by("pk").values()) for model in models}


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_a_row_has_the_answer(row: Row, trial: Trial):
    call = CALLS.get(str(row), Call())
    with arranged(trial.route, trial.scene):
        call.before(trial.scene)
        body = call.body(trial.scene) if call.body else body_of(trial.route, trial.scene)
        trial.new_events()
        first = []
        if call.first:
            assert trial.call(body).status_code == 200
            first = [event.action for event in trial.new_events()]
            if call.works:
                trial.work()
                trial.new_events()
        before, finished = rows_but_events(), Event.objects.count()

        answer = trial.call(body)

        events = trial.new_events()
        check_unchanged(row, answer, before, events, first)
        assert Event.objects.count() == finished + len(events)


def check_unchanged(row: Row, answer: Any, before: dict, events: list[Event], first: list[str]) -> None:
    """Check the answer and the effects of the call against the row."""
    if row.answer.startswith("see "):
        # the page that it names has the rule, and there are tests of it
        assert answer.status_code in (200, 400)
        return
    refused = REASON.fullmatch(row.answer)
    if refused:
        assert answer.status_code == int(refused[1]), answer.content
        assert [error["reason"] for error in answer.json()["errors"]] == [refused[2]]
    else:
        assert row.answer.startswith("200"), f"{row}: the answer begins with 200, 400, 404 or see"
        assert answer.status_code == 200, answer.content
    if row.answer == "200, runs again":
        assert rows_but_events() != before
        assert row.event == "the same"
        assert [event.action for event in events] == first
        return
    if refused or row.answer.endswith("nothing changes"):
        assert rows_but_events() == before
    expected = row.event.removesuffix(", finished").strip("`")
    shown = [(event.action, event.status, event.percent_complete) for event in events]
    assert shown == ([] if row.event == "none" else [(expected, "finished", 100)])


def actions() -> set[str]:
    """Return the operations that are a `POST` to a path that is not a list."""
    gets = {route.documented for route in ROUTES.values() if route.method == "get"}
    return {name for name, route in ROUTES.items() if route.method == "post" and route.documented not in gets}


def test_the_table_has_every_action_and_only_existing_ones():
    listed = {row.operation for row in TABLE}
    assert actions() - listed == set(), "add a row to the table of docs/api.md for each of these"
    assert listed <= ROUTES.keys()


def test_each_row_is_there_once_and_each_call_has_a_row():
    names = [str(row) for row in TABLE]
    assert len(names) == len(set(names))
    assert CALLS.keys() <= set(names)
    section = PAGE.read_text().partition("## Repeated requests")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len(lines) == len(TABLE) + 2, "a row of the table is not of the form that is read here"
