"""Who may do what, as it really comes out: docs/policy.txt."""

from functools import cache
from pathlib import Path

import pytest

from accounts.models import Event
from compute.models import Instance
from config.api import access
from tests.baselines import stale
from tests.config.api.routes import Route, routes
from tests.policy import CALLERS, OBJECTS, Scene, scene_of, status

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


def line_of(route: Route, answered: dict[str, int]) -> str:
    cells = "".join(f"{status:<7}" for status in answered.values())
    return f"{route!s:{WIDTH}}  {cells}".rstrip()


def assert_works(route: Route, answered: dict[str, int]) -> None:
    """Hold that the call is a good one: what others are answered says something only then."""
    key = f"{route.method.upper()} {route.documented}"
    assert answered["owner"] in (200, 204), (
        f'the owner is answered {answered["owner"]}: add BODIES["{key}"], with which it works, in tests/policy.py; '
        f'or BEFORE["{key}"], if something has to be there first'
    )


def heading() -> str:
    callers = "".join(f"{name:7}{about}\n" for name, about in CALLERS.items())
    names = " " * (WIDTH + 2) + "".join(f"{name:<7}" for name in CALLERS)
    return f"{LEGEND}{callers}\n{names.rstrip()}\n"


@cache
def written() -> dict[str, str]:
    """The committed lines, by their operation."""
    lines = TABLE.read_text().removeprefix(heading()).splitlines()
    return {line[:WIDTH].rstrip(): line for line in lines}


def test_the_table_has_every_operation_and_no_other(scene, write_baselines):
    """What stands in each line is held against the calls below, where all cores share them."""
    if write_baselines:
        answered = {route: outcomes(route, scene) for route in ROUTES}
        for route in ROUTES:
            assert_works(route, answered[route])
        TABLE.write_text(heading() + "".join(line_of(route, answered[route]) + "\n" for route in ROUTES))
        written.cache_clear()
    assert TABLE.read_text().startswith(heading())
    assert list(written()) == [str(route) for route in ROUTES], stale(TABLE.name)


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_answer_follows_from_what_the_endpoint_declares(route: Route, scene, write_baselines):
    before = list(Instance.objects.values()), Event.objects.count()
    answered = outcomes(route, scene)
    assert (list(Instance.objects.values()), Event.objects.count()) == before, "the calls left something behind"
    assert_works(route, answered)
    assert write_baselines or written().get(str(route)) == line_of(route, answered), stale(TABLE.name)
    scope, grant = route.scope, route.grant
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


def test_nothing_is_named_that_no_path_has():
    prefixes = set()
    for route in ROUTES:
        pieces = route.documented.strip("/").split("/")
        prefixes |= {"/" + "/".join(pieces[: end + 1]) for end in range(len(pieces))}
    assert set(OBJECTS) <= prefixes
