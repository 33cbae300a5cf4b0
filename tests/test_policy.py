"""Permissions of every kind of caller, as found by calls: docs/policy.txt."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from accounts.models import Event
from compute.models import Instance
from config.api import access
from tests.baselines import stale
from tests.config.api.routes import Route, routes
from tests.databases import rolled_back
from tests.policy import (
    BODIES,
    CALLERS,
    OBJECTS,
    Scene,
    operation_of,
    scene_of,
    status,
    status_of_wrong_body,
)
from tests.world import make_world

TABLE = Path(__file__).resolve().parent.parent / "docs" / "policy.txt"
ROUTES = routes()
WIDTH = max(len(str(route)) for route in ROUTES)

LEGEND = """\
The status that each operation of the API answers to each kind of caller, on a compute of the account that is off.
The status after the stroke answers a wrong body, because the body is checked last. `make baselines` writes this
file, and tests compare it with real answers.

"""


@pytest.fixture(scope="module")
def shared_scene(django_db_setup, django_db_blocker) -> Iterator[Scene]:
    """Create the scene once for all operations. The calls are rolled back."""
    with django_db_blocker.unblock(), rolled_back():
        yield scene_of(make_world())


@pytest.fixture
def scene(shared_scene, db) -> Scene:
    return shared_scene


Outcome = tuple[int, int | None]
"""The status of a good call, and that of a call with a wrong body, if the operation has a body."""


def outcomes(route: Route, scene: Scene) -> dict[str, Outcome]:
    takes_body = operation_of(route) in BODIES
    return {
        caller.name: (
            status(route, scene, caller),
            status_of_wrong_body(route, scene, caller) if takes_body else None,
        )
        for caller in scene.callers
    }


def line_of(route: Route, answered: dict[str, Outcome]) -> str:
    cells = (str(good) if wrong is None else f"{good}/{wrong}" for good, wrong in answered.values())
    return f"{route!s:{WIDTH}}  {''.join(f'{cell:<9}' for cell in cells)}".rstrip()


def assert_works(route: Route, answered: dict[str, Outcome]) -> None:
    """Check that the call is a good one. Only then do the statuses of other callers mean anything."""
    key = operation_of(route)
    good, wrong = answered["owner"]
    assert good in (200, 204), (
        f'the owner is answered {good}: add BODIES["{key}"], with which it works, in tests/policy.py; '
        f'or BEFORE["{key}"], if something has to be there first'
    )
    if wrong is not None:
        assert wrong == 400
        # the body names the entity, so it is read before permissions on the entity are checked
        in_body = route.grant == access.READ_WRITE and not route.parameters
        unlike = {name: cell for name, cell in answered.items() if cell[0] != 200 and cell[0] != cell[1]}
        unlike = {name: cell for name, cell in unlike.items() if not (in_body and cell == (403, 400))}
        if key == "POST /v4/images":
            # a disk of the body that does not exist is a 404
            unlike = {name: cell for name, cell in unlike.items() if cell != (404, 400)}
        assert not unlike, f"{key}: the body is looked at before who asks and for what: {unlike}"


def heading() -> str:
    callers = "".join(f"{name:9}{about}\n" for name, about in CALLERS.items())
    names = " " * (WIDTH + 2) + "".join(f"{name:<9}" for name in CALLERS)
    return f"{LEGEND}{callers}\n{names.rstrip()}\n"


@cache
def written() -> dict[str, str]:
    """Return the committed lines by operation."""
    lines = TABLE.read_text().removeprefix(heading()).splitlines()
    return {line[:WIDTH].rstrip(): line for line in lines}


def test_the_table_has_every_operation_and_no_other(scene, write_baselines):
    """This test checks the list of lines. The calls below check each line, and all cores share them."""
    if write_baselines:
        answered = {route: outcomes(route, scene) for route in ROUTES}
        for route in ROUTES:
            assert_works(route, answered[route])
        TABLE.write_text(heading() + "".join(line_of(route, answered[route]) + "\n" for route in ROUTES))
        written.cache_clear()
    assert TABLE.read_text().startswith(heading())
    assert list(written()) == [str(route) for route in ROUTES], stale(TABLE.name)


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_answer_follows_from_the_declarations(route: Route, scene, write_baselines):
    before = list(Instance.objects.values()), Event.objects.count()
    found = outcomes(route, scene)
    assert (list(Instance.objects.values()), Event.objects.count()) == before, "the calls left something behind"
    assert_works(route, found)
    assert write_baselines or written().get(str(route)) == line_of(route, found), stale(TABLE.name)
    good = {name: answered for name, (answered, _) in found.items()}
    scope, grant = route.scope, route.grant
    if not scope.token:
        # public things; the path here names a private one, which only callers with a grant find
        owned = route.parameters and grant != access.ANYONE
        assert {good["none"], good["bare"], good["other"]} == {404 if owned else 200}
        return
    assert good["none"] == 401
    assert good["staff"] == 401
    lacking = scope.enforced and bool(scope.names)
    writes = lacking and any(name.endswith(":read_write") for name in scope.names)
    assert (good["scope"] == 401) == lacking
    assert (good["reads"] == 401) == writes
    if grant in (access.READ_ONLY, access.READ_WRITE) and route.parameters:
        assert (good["bare"], good["other"]) == (404, 404)
        assert (good["r/o"] == 403) == (grant == access.READ_WRITE)
        assert good["r/w"] == 200
    elif grant == access.READ_WRITE:
        # the body names the entity: one that the caller may not see is not valid there
        assert {good["bare"], good["other"]} <= {400, 404}
        assert good["r/o"] == 403
        assert good["r/w"] == 200
    elif grant not in (access.ANYONE, access.READ_ONLY):
        assert good["bare"] == 403
        assert (good["r/w"] == 403) == (grant == access.UNRESTRICTED)


def test_nothing_is_named_that_no_path_has():
    prefixes = set()
    for route in ROUTES:
        pieces = route.documented.strip("/").split("/")
        prefixes |= {"/" + "/".join(pieces[: end + 1]) for end in range(len(pieces))}
    assert set(OBJECTS) <= prefixes
