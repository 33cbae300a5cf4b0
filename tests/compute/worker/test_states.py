"""Actions by status: docs/states.md, checked cell by cell on the real API."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils.timezone import now

from accounts.models import User
from compute.jobs.definition import KINDS
from compute.models import Backup, Disk, HostMigration, Instance, InstanceType, Job, Volume
from regions.models import Region
from tests.baselines import stale
from tests.client import APIClient
from tests.factories import (
    AddressPoolFactory,
    HostFactory,
    InstanceTypeFactory,
    VolumeFactory,
    token_of,
)
from tests.world import STRONG

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).resolve().parents[3] / "docs" / "states.md"
STATUSES = [status.value for status in Instance.Status]

TEXT = """\
# Actions and statuses

The table on this page shows the answer to each action on an instance in each status. A cell has one of these
values:

- **ok**: 200. A job starts.
- **already**: 200. No job starts, because the instance is already in the state that the action asks for. See
  [repeated requests](api.md#repeated-requests), also for the event.
- `busy`: 400 `Compute busy.` Send the request again when the job has ended.
- `no`: the request is refused with 400. The reason names the status of the instance. The exception is `image of a
  disk` of an instance that is `deleting`: this request is refused with 404.

The column `shows` has the status of the instance during the job. The cell is empty if the status does not change.
After the job, the status is `running` or `offline`, as the hypervisor reports. During maintenance of the host, the
status can be `stopped`.

**Jobs that do not change the status.** Jobs that work on a disk, take a backup, or attach or detach a volume do not
change the status. While such a job exists, every action is answered `busy`, with two exceptions. `delete` cancels
the job, and the deletion begins when the job has ended. `image of a disk` waits for the job.

**Maintenance.** While the host of an instance is in maintenance, `boot`, `reboot` and `rescue` of an instance that
is off are refused. The reason names the maintenance. A `shutdown` of a `stopped` instance sets the status to
`offline`. Then the platform does not boot the instance after the maintenance.

**Reboot.** A `reboot` of an instance that is off only boots the instance.

`pytest tests/compute/worker/test_states.py --write-baselines` writes this page from real answers of the API. A test
compares the page with the API. The kinds of jobs are in [compute/worker/kinds.py](../compute/worker/kinds.py).

"""


@dataclass(frozen=True)
class Scene:
    instance: Instance
    disk: Disk
    large: InstanceType
    client: APIClient


@dataclass(frozen=True)
class Action:
    """A call that creates a job of `kind` for the instance."""

    kind: str
    path: Callable[[Scene], str]
    body: Callable[[Scene], dict[str, Any]] = lambda scene: {}
    method: str = "post"
    before: Callable[[Scene], None] = lambda scene: None


def path(rest: str) -> Callable[[Scene], str]:
    return lambda scene: f"/v4/compute/instances/{scene.instance.pk}{rest}"


def deprecate(scene: Scene) -> None:
    InstanceType.objects.filter(pk=scene.instance.type_id).update(deprecated=True, successor=scene.large)


def schedule(scene: Scene) -> None:
    HostMigration.objects.create(instance=scene.instance, when=now())


def disk_of(scene: Scene) -> str:
    return f"/v4/compute/instances/{scene.instance.pk}/disks/{scene.disk.pk}"


def volume_of(scene: Scene) -> Volume:
    return Volume.objects.get(account=scene.instance.account)


def attach_volume(scene: Scene) -> None:
    Volume.objects.update(instance=scene.instance)


def back_up(scene: Scene) -> None:
    """Enable backups, and add one that was taken while the instance had no disk or profile."""
    instance = scene.instance
    Instance.objects.filter(pk=instance.pk).update(backups_enabled=True)
    Backup.objects.create(
        instance=instance, account=instance.account, region=instance.region, type="automatic", status="successful"
    )


ACTIONS = {
    "boot": Action("boot", path("/boot")),
    "reboot": Action("reboot", path("/reboot")),
    "shutdown": Action("shutdown", path("/shutdown")),
    "rescue": Action("rescue", path("/rescue")),
    "resize": Action("resize", path("/resize"), lambda scene: {"type": scene.large.pk}),
    "mutate": Action("mutate", path("/mutate"), before=deprecate),
    "migrate (host)": Action("migrate", path("/migrate"), before=schedule),
    "migrate (region)": Action("migrate_region", path("/migrate"), lambda scene: {"region": "us-other"}),
    "clone": Action("clone", path("/clone"), lambda scene: {"region": "us-test", "type": scene.large.pk}),
    "rebuild": Action("rebuild", path("/rebuild"), lambda scene: {"image": "compute/test11", "root_pass": STRONG}),
    "password": Action(
        "password_reset", lambda scene: f"{disk_of(scene)}/password", lambda scene: {"password": STRONG}
    ),
    "disk create": Action("disk_create", path("/disks"), lambda scene: {"size": 100}),
    "disk clone": Action("disk_clone", lambda scene: f"{disk_of(scene)}/clone"),
    "disk resize": Action("disk_resize", lambda scene: f"{disk_of(scene)}/resize", lambda scene: {"size": 900}),
    "disk delete": Action("disk_delete", lambda scene: disk_of(scene), method="delete"),
    "snapshot": Action("snapshot", path("/backups"), lambda scene: {"label": "before"}, before=back_up),
    "restore": Action(
        "restore",
        lambda scene: path(f"/backups/{Backup.objects.get().pk}/restore")(scene),
        lambda scene: {"compute_id": scene.instance.pk},
        before=back_up,
    ),
    "volume attach": Action(
        "volume_attach",
        lambda scene: f"/v4/volumes/{volume_of(scene).pk}/attach",
        lambda scene: {"compute_id": scene.instance.pk},
    ),
    "volume detach": Action(
        "volume_detach", lambda scene: f"/v4/volumes/{volume_of(scene).pk}/detach", before=attach_volume
    ),
    "image of a disk": Action("imagize", lambda scene: "/v4/images", lambda scene: {"disk_id": scene.disk.pk}),
    "delete": Action("delete", path(""), method="delete"),
}

NOT_IN_THE_TABLE = {
    "backup": "begun by the schedule of backups",
    "host_stop": "begun by maintenance of its host",
    "redefine": "begun by staff, from the page of drift",
    "clone_into": "the line of clone, with another target",
}
"""Kinds that start from a status and have no line of their own, with the reason."""


@pytest.fixture
def scene(world) -> Scene:
    other = Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    HostFactory(region=world.region)
    HostFactory(region=other)
    AddressPoolFactory(region=other, network="198.19.7.0/24", addresses=5)
    large = InstanceTypeFactory(id="g6-test-9", label="Test 9", memory=4096, disk=51200, vcpus=4)
    instance = world.create(label="walked")
    instance.jobs.all().delete()
    instance.disks.update(status="ready")
    VolumeFactory(account=world.account, region=world.region)
    Instance.objects.filter(pk=instance.pk).update(status="offline")
    disk = instance.disks.filter(filesystem="ext4").get()
    Disk.objects.filter(pk=disk.pk).update(size=1000)
    owner = User.objects.get(pk=world.actor.user_id)
    return Scene(instance, disk, large, APIClient(token_of(owner)))


def show(scene: Scene, status: str) -> None:
    """Set the status that the instance shows. For ``cloning``, the instance is being cloned."""
    if status == Instance.Status.CLONING:
        clone = ACTIONS["clone"]
        assert scene.client.post(clone.path(scene), clone.body(scene)).status_code == 200
    else:
        Instance.objects.filter(pk=scene.instance.pk).update(status=status)


def answer(scene: Scene, action: Action, status: str) -> str:
    """Return the API's answer to the action on an instance that shows `status`: ok, already, busy or no."""
    with transaction.atomic():
        show(scene, status)
        action.before(scene)
        url = action.path(scene)
        send = getattr(scene.client, action.method)
        response = send(url) if action.method == "delete" else send(url, action.body(scene))
        begun = Job.objects.filter(kind=action.kind).exists()
        transaction.set_rollback(True)
    if response.status_code == 200:
        return "ok" if begun else "already"
    if response.status_code == 404:
        # the disk of an instance that is being deleted is not found, so no image can be made of it
        assert (action.kind, status) == ("imagize", "deleting")
        return "no"
    assert response.status_code == 400, (url, status, response.content)
    [error] = response.json()["errors"]
    if error["reason"] == "Compute busy.":
        assert error["field"] is None
        return "busy"
    assert status.replace("_", " ") in error["reason"], (url, status, error)
    return "no"


def test_every_cell_is_as_written_down(scene, write_baselines):
    heading = ["action", "shows", *STATUSES]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for name, action in ACTIONS.items():
        cells = [answer(scene, action, status) for status in STATUSES]
        marked = [f"**{cell}**" if cell in ("ok", "already") else f"`{cell}`" for cell in cells]
        shows = f"`{KINDS[action.kind].during}`" if KINDS[action.kind].during else ""
        lines.append("| " + " | ".join([name, shows, *marked]) + " |")
    text = TEXT + "\n".join(lines) + "\n"
    if write_baselines:
        TABLE.write_text(text)
    assert TABLE.read_text() == text, stale(TABLE.name)


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_starts_where_its_kind_says_and_nowhere_else(name, scene):
    action = ACTIONS[name]
    started = {status for status in STATUSES if answer(scene, action, status) == "ok"}
    if name == "clone":
        # the job belongs to the new instance; the source must be at rest, or being cloned already
        assert started == {*Instance.SETTLED, "cloning"}
    elif name == "image of a disk":
        # the job waits for the job of a busy instance, and belongs to no instance
        assert started == set(STATUSES) - {"deleting"}
    elif name == "volume detach":
        # the volume of an instance that is being deleted is detached by a job that belongs to no instance
        assert started == {*KINDS[action.kind].starts_from, "deleting"}
    else:
        assert started == KINDS[action.kind].starts_from


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].starts_from])
def test_every_kind_that_starts_from_a_status_has_a_line(kind):
    listed = {action.kind for action in ACTIONS.values()}
    assert (kind in listed) != (kind in NOT_IN_THE_TABLE), (
        f"{kind}: add a line to ACTIONS, or to NOT_IN_THE_TABLE with the reason"
    )


def test_only_kinds_are_left_out_of_the_table():
    assert NOT_IN_THE_TABLE.keys() <= KINDS.keys()
