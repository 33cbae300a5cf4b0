"""Every operation of the API, called by every kind of caller: what test_policy.py writes down."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.models import Account, Event, GlobalGrants, Level, PersonalToken, User
from accounts.scopes import FAMILIES
from compute.models import Config, Disk, Instance
from tests.client import APIClient
from tests.config.api.routes import Route
from tests.factories import (
    ConfigFactory,
    DiskFactory,
    EventFactory,
    GlobalGrantsFactory,
    GrantFactory,
    InstanceFactory,
    StaffFactory,
    UserFactory,
    token_of,
)
from tests.world import World

UNUSED = "object_storage:read_only"
"""A scope that no operation needs."""
READING = " ".join(f"{family}:read_only" for family in FAMILIES)

CALLERS = {
    "none": "without a token",
    "scope": "the owner, with a token of another scope",
    "reads": "the owner, with a token of all read_only scopes",
    "bare": "a restricted user without any grant",
    "r/o": "a restricted user with read_only on the entity and on the account",
    "r/w": "a restricted user with read_write on the entity and the account, and all that can be granted there",
    "owner": "an unrestricted user",
    "other": "the owner of another account",
    "staff": "a staff user, who has no account",
}


@dataclass(frozen=True)
class Caller:
    """Someone who calls. `tokens` are the ids of personal tokens that the paths name: its own, where it may."""

    name: str
    api: APIClient
    token_id: int | None


@dataclass(frozen=True)
class Scene:
    """What stands on the account that the calls are about. The compute is off and has one disk and profile."""

    world: World
    account: Account
    compute: Instance
    disk: Disk
    config: Config
    event: Event
    callers: tuple[Caller, ...]


def scene_of(world: World) -> Scene:
    account = world.account
    compute = InstanceFactory(account=account, region=world.region, type=world.type, host=world.host)
    disk = DiskFactory(instance=compute)
    config = ConfigFactory(instance=compute, disk=disk)
    event = EventFactory(account=account, of=True, entity_id=compute.pk)
    return Scene(world, account, compute, disk, config, event, tuple(callers_of(account, compute)))


def callers_of(account: Account, compute: Instance):
    owner = UserFactory(account=account)
    everything = {
        field.name: True for field in GlobalGrants._meta.fields if field.get_internal_type() == "BooleanField"
    }
    users: dict[str, User] = {
        "bare": UserFactory(account=account, restricted=True),
        "r/o": GlobalGrantsFactory(user__account=account).user,
        "r/w": GlobalGrantsFactory(user__account=account, account_access=Level.READ_WRITE, **everything).user,
        "other": UserFactory(),
        "staff": StaffFactory(),
    }
    GrantFactory(user=users["r/o"], entity_id=compute.pk, permissions=Level.READ_ONLY)
    GrantFactory(user=users["r/w"], entity_id=compute.pk, permissions=Level.READ_WRITE)
    scopes = {"scope": UNUSED, "reads": READING}
    for name in CALLERS:
        readable = None if name == "none" else token_of(users.get(name, owner), scopes.get(name, "*"))
        whose = users.get(name, owner) if name not in ("other", "staff") else owner
        token = PersonalToken.objects.filter(user=whose).last()
        yield Caller(name, APIClient(readable), token.pk if token else 0)


OBJECTS: dict[str, Callable[[Scene, Caller], Any]] = {
    "/v4/account/events/{id}": lambda scene, caller: scene.event.pk,
    "/v4/compute/instances/{id}": lambda scene, caller: scene.compute.pk,
    "/v4/compute/instances/{compute_id}": lambda scene, caller: scene.compute.pk,
    "/v4/compute/instances/{compute_id}/configs/{id}": lambda scene, caller: scene.config.pk,
    "/v4/compute/instances/{compute_id}/disks/{id}": lambda scene, caller: scene.disk.pk,
    "/v4/compute/kernels/{id}": lambda scene, caller: "compute/latest-64bit",
    "/v4/compute/types/{id}": lambda scene, caller: scene.world.type.pk,
    "/v4/images/{id}": lambda scene, caller: scene.world.image.pk,
    "/v4/profile/tokens/{id}": lambda scene, caller: caller.token_id,
    "/v4/regions/{id}": lambda scene, caller: scene.world.region.pk,
}
"""What each parameter of a path names, by the path up to it."""

BODIES: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "POST /v4/compute/instances": lambda scene: {"region": scene.world.region.pk, "type": scene.world.type.pk},
    "PUT /v4/compute/instances/{id}": lambda scene: {"label": "another-label"},
    "POST /v4/profile/tokens": lambda scene: {"label": "another", "scopes": UNUSED},
    "PUT /v4/profile/tokens/{id}": lambda scene: {"label": "another"},
}
"""What is sent; an empty object where nothing is said."""


def running(scene: Scene) -> None:
    Instance.objects.filter(pk=scene.compute.pk).update(status=Instance.Status.RUNNING)


BEFORE: dict[str, Callable[[Scene], None]] = {
    "POST /v4/compute/instances/{id}/reboot": running,
    "POST /v4/compute/instances/{id}/shutdown": running,
}
"""What has to be so for the call to be good."""


def address(route: Route, scene: Scene, caller: Caller) -> str:
    """The route's path with its parameters filled in."""
    path = ""
    values = {}
    for piece in route.documented.strip("/").split("/"):
        path += f"/{piece}"
        if piece.startswith("{"):
            assert path in OBJECTS, f"say in {__name__}.OBJECTS what {path} names"
            values[piece.strip("{}")] = OBJECTS[path](scene, caller)
    return route.fill(values)


def status(route: Route, scene: Scene, caller: Caller) -> int:
    """The status that the caller is answered. Nothing of the call remains."""
    operation = f"{route.method.upper()} {route.documented}"
    with transaction.atomic():
        if operation in BEFORE:
            BEFORE[operation](scene)
        path = address(route, scene, caller)
        body = BODIES[operation](scene) if operation in BODIES else {}
        call = getattr(caller.api, route.method)
        answer = call(path, body) if route.method in ("post", "put") else call(path)
        transaction.set_rollback(True)
    return answer.status_code
