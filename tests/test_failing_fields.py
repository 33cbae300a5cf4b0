"""All failing fields are named at once, whatever their problems: every two independent fields of every body."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from rest_framework import serializers

from tests.client import File, errors
from tests.config.api.routes import Route, request_of, routes
from tests.databases import rolled_back
from tests.failing import DEPENDENT, FULL_BODIES, WRONG
from tests.failing.nested import NESTED
from tests.policy import BODIES, Scene, body_of, operation_of, prepared, scene_of
from tests.world import make_world

ROUTES = [route for route in routes() if operation_of(route) in BODIES]


@pytest.fixture(scope="module")
def shared_scene(django_db_setup, django_db_blocker) -> Iterator[Scene]:
    """Create the scene once for all operations. The calls are rolled back."""
    with django_db_blocker.unblock(), rolled_back():
        yield scene_of(make_world())


@pytest.fixture
def scene(shared_scene, db) -> Scene:
    return shared_scene


def fields_of(route: Route) -> dict[str, serializers.Field]:
    """Return the fields of the route's body that are checked, by their names in requests."""
    body = request_of(route)
    if body is None:
        return {}  # any JSON object
    ignored = getattr(body, "UNCHANGED", ())
    return {name: field for name, field in body().fields.items() if not field.read_only and name not in ignored}


def misshapen(field: serializers.Field) -> Any:
    """Return a value that the field always refuses."""
    return 7 if isinstance(field, serializers.CharField | serializers.ChoiceField) else "wrong"


def good_body(route: Route, scene: Scene) -> dict[str, Any]:
    full = FULL_BODIES.get(operation_of(route))
    return dict(full(scene)) if full else body_of(route, scene)


def breaks_of(route: Route, scene: Scene) -> dict[str, list[Any]]:
    """Return for each field the values to try: one of the wrong shape, and one with wrong content, if there is
    any."""
    wrong = WRONG.get(operation_of(route), lambda scene: {})(scene)
    fields = fields_of(route)
    assert set(wrong) <= set(fields), f"{operation_of(route)} has no {set(wrong) - set(fields)}"
    return {name: [misshapen(field), *([wrong[name]] if name in wrong else [])] for name, field in fields.items()}


def named(answer: Any) -> set[str]:
    """Return the body's fields in a refusal. A nested field counts as its outermost one."""
    return {str(field).partition(".")[0].partition("[")[0] for field in errors(answer)}


def test_every_field_that_is_wrong_on_its_own_exists():
    """If no route has a name in the tables any more, its test no longer runs."""
    known = {operation_of(route) for route in ROUTES}
    assert set(WRONG) | set(FULL_BODIES) | set(DEPENDENT) <= known


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_each_field_is_named_alone(route: Route, scene):
    if isinstance(body_of(route, scene), File):
        pytest.skip("a file is no object")
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    with prepared(route, scene) as call:
        good = good_body(route, scene)
        assert call(owner, good).status_code == 200
        for field, values in breaks_of(route, scene).items():
            for value in values:
                answer = call(owner, good | {field: value})
                assert named(answer) == {field}, f"{field} = {value!r}: {answer.json()}"


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_two_fields_are_named_together(route: Route, scene):
    if isinstance(body_of(route, scene), File):
        pytest.skip("a file is no object")
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    dependent = DEPENDENT.get(operation_of(route), set())
    unnamed = []
    with prepared(route, scene) as call:
        good = good_body(route, scene)
        for (one, its), (other, others) in combinations(breaks_of(route, scene).items(), 2):
            if frozenset((one, other)) in dependent:
                continue
            for first in its:
                for second in others:
                    answer = call(owner, good | {one: first, other: second})
                    if named(answer) != {one, other}:
                        unnamed.append(f"{one} = {first!r}, {other} = {second!r}: {answer.json()['errors']}")
    assert not unnamed, "\n".join(unnamed)


@pytest.mark.alike
@pytest.mark.parametrize("operation", NESTED)
def test_items_of_a_list_hide_nothing_of_each_other(operation: str, scene):
    """Wrong shapes hide no wrong values, in one item or in others. Each is named by its place in the request."""
    (route,) = (route for route in ROUTES if operation_of(route) == operation)
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    body, fields = NESTED[operation]
    with prepared(route, scene) as call:
        answer = call(owner, body)
    found = [error["field"] for error in answer.json()["errors"]]
    assert sorted(found) == sorted(fields)
