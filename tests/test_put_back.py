"""A client can PUT what it has read: read-only fields are ignored, and equal values change nothing."""

import pytest

from accounts.models import Event
from tests.config.api.routes import Route, routes
from tests.policy import address, scene_of

READ = {route.path for route in routes() if route.method == "get"}
PICTURE = "/v4/account/oauth-clients/{id}/thumbnail"
ROUTES = [
    route for route in routes() if route.method == "put" and route.path in READ and route.documented != PICTURE
]
NAMED = ("/v4/compute/instances/{compute_id}/ips/{id}", "/v4/networking/ips/{id}")
"""An address shows the platform's name for it. A PUT of that name sets it as the customer's name: a change."""


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_a_put_of_the_answer_of_get_makes_no_event(route: Route, world):
    scene = scene_of(world)
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    path = address(route, scene, owner)
    got = owner.api.get(path)
    assert got.status_code == 200
    answer = owner.api.put(path, got.json())
    assert answer.status_code == 200, answer.json()
    assert {**answer.json(), "updated": None} == {**got.json(), "updated": None}
    if route.documented not in NAMED:
        assert list(Event.objects.all()) == [scene.event]
