"""Who may do what, as it really comes out: docs/policy.txt."""

from pathlib import Path

import pytest

from accounts.models import Event
from compute.models import Instance
from config.api import access
from tests.config.api.routes import Route, routes
from tests.policy import CALLERS, OBJECTS, Scene, scene_of, status
from tests.world import world

__all__ = ["world"]

TABLE = Path(__file__).resolve().parent.parent / "docs" / "policy.txt"
ROUTES = routes()
WIDTH = max(len(str(route)) for route in ROUTES)

LEGEND = """\
Who may do what: the status that each operation of the API answers to each kind of caller, on a compute of the
account, which is off. Written by `pytest tests/test_policy.py --write-baselines`, and held against it by the tests.

"""


@pytest.fixture
def scene(world) -> Scene:
    return scene_of(world)


def outcomes(route: Route, scene: Scene) -> dict[str, int]:
    return {caller.name: status(route, scene, caller) for caller in scene.callers}


def test_who_may_do_what_is_as_written_down(scene, write_baselines):
    callers = "".join(f"{name:7}{about}\n" for name, about in CALLERS.items())
    heading = " " * (WIDTH + 2) + "".join(f"{name:<7}" for name in CALLERS)
    lines = [heading.rstrip()]
    for route in ROUTES:
        cells = "".join(f"{answered:<7}" for answered in outcomes(route, scene).values())
        lines.append(f"{route!s:{WIDTH}}  {cells}".rstrip())
    text = f"{LEGEND}{callers}\n" + "\n".join(lines) + "\n"
    if write_baselines:
        TABLE.write_text(text)
    assert TABLE.read_text() == text, f"{TABLE.name} differs; if that is meant, run with --write-baselines"


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_answer_follows_from_what_the_endpoint_declares(route: Route, scene):
    answered = outcomes(route, scene)
    scope, grant = route.scope, route.grant
    assert answered["owner"] in (200, 204), "give it a body in tests/policy.py with which it works"
    if not scope.token:
        # what is public; one that the path names here is not, and only those with a grant find it
        owned = route.parameters and grant != access.ANYONE
        assert {answered["none"], answered["bare"], answered["other"]} == {404 if owned else 200}
        return
    assert answered["none"] == 401
    assert answered["staff"] == 401
    lacking = scope.enforced and bool(scope.names)
    writes = lacking and any(name.endswith(":read_write") for name in scope.names)
    assert (answered["scope"] == 403) == lacking
    assert (answered["reads"] == 403) == writes
    if grant in (access.READ_ONLY, access.READ_WRITE) and route.parameters:
        assert (answered["bare"], answered["other"]) == (404, 404)
        assert (answered["r/o"] == 403) == (grant == access.READ_WRITE)
        assert answered["r/w"] == 200
    elif grant == access.READ_WRITE:
        # the entity is named in the body: one that the caller may not see is not valid there
        assert {answered["bare"], answered["other"]} <= {400, 404}
        assert answered["r/o"] == 403
        assert answered["r/w"] == 200
    elif grant not in (access.ANYONE, access.READ_ONLY):
        assert answered["bare"] == 403
        assert (answered["r/w"] == 403) == (grant == access.UNRESTRICTED)


def test_the_calls_leave_nothing_behind(scene):
    before = list(Instance.objects.values()), Event.objects.count()
    for route in ROUTES:
        outcomes(route, scene)
    assert (list(Instance.objects.values()), Event.objects.count()) == before


def test_nothing_is_named_that_no_path_has():
    prefixes = set()
    for route in ROUTES:
        pieces = route.documented.strip("/").split("/")
        prefixes |= {"/" + "/".join(pieces[: end + 1]) for end in range(len(pieces))}
    assert set(OBJECTS) <= prefixes
