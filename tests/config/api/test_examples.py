"""Each example of the OpenAPI document is sent, and the answer has the shape of the example."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError

from config.api.examples import KEPT_SECONDS, InstalledIds
from tests.baselines import stale
from tests.client import answer_of, document
from tests.config.api.routes import Route, routes
from tests.databases import rolled_back
from tests.examples import (
    FILE,
    example_of,
    example_scene,
    exchange,
    operation_of,
    shape,
    steady,
    write,
    written,
)
from tests.policy import Caller, Scene

ROUTES = routes()
BINARY = {
    "GET /v4/account/oauth-clients/{id}/thumbnail": "a picture is answered",
    "PUT /v4/account/oauth-clients/{id}/thumbnail": "a picture is sent",
    "POST /v4/support/tickets/{id}/attachments": "a form with a file is sent",
}
"""Operations whose request or answer is not JSON, and so has no example."""


@pytest.fixture(scope="module")
def shared_scene(django_db_setup, django_db_blocker) -> Iterator[Scene]:
    """Create the scene once for all operations. The calls are rolled back."""
    with django_db_blocker.unblock(), rolled_back():
        yield example_scene()


@pytest.fixture
def scene(shared_scene, db) -> Scene:
    return shared_scene


def caller_of(route: Route, scene: Scene) -> Caller:
    """Return the owner. For the user's grants, return a restricted user with all of them."""
    name = "r/w" if route.documented == "/v4/profile/grants" else "owner"
    return next(caller for caller in scene.callers if caller.name == name)


def test_every_operation_has_its_examples(scene, write_baselines):
    if write_baselines:
        write({operation_of(route): example_of(route, scene, caller_of(route, scene)) for route in ROUTES})
    found = written()
    assert list(found) == [operation_of(route) for route in ROUTES], stale(FILE.name)
    for route in ROUTES:
        operation = document()["paths"][route.documented][route.method]
        example = found[operation_of(route)]
        if operation_of(route) not in BINARY:
            assert "response" in example, operation_of(route)
            assert ("request" in example) == ("requestBody" in operation), operation_of(route)


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_an_example_is_taken_and_answered(route: Route, scene, write_baselines):
    example = written()[operation_of(route)]
    own, answer = exchange(route, scene, caller_of(route, scene), example.get("request"))
    if "request" in example:
        assert write_baselines or steady(own, most=None) == example["request"], stale(FILE.name)
    if "response" in example:
        answer_of(route.method, re.sub(r"\{\w+\}", "1", route.documented)).validate(example["response"])
        assert write_baselines or shape(answer.json()) == shape(example["response"]), stale(FILE.name)


def test_examples_do_not_depend_on_the_order_of_recording(scene):
    creates = [route for route in ROUTES if route.method == "post" and route.action == "create"]

    def recorded(routes: Iterable[Route]) -> dict[str, Any]:
        return {operation_of(route): example_of(route, scene, caller_of(route, scene)) for route in routes}

    assert recorded(reversed(creates)) == recorded(creates)


class TestInstalledIds:
    @pytest.fixture
    def clock(self, monkeypatch) -> list[float]:
        """The time, which tests set in the first item."""
        now = [1000.0]
        monkeypatch.setattr("config.api.examples.time.monotonic", lambda: now[0])
        return now

    @pytest.fixture
    def ids(self, clock) -> InstalledIds:
        found = InstalledIds()
        found.source = Mock(return_value={"us-east": "no-osl"})
        return found

    def test_the_database_is_asked_once_a_minute(self, ids, clock):
        assert ids.get() == ids.get() == {"us-east": "no-osl"}
        assert ids.source.call_count == 1
        clock[0] += KEPT_SECONDS
        ids.source.return_value = {}
        assert ids.get() == {}

    def test_they_stay_while_the_database_does_not_answer(self, ids, clock):
        ids.get()
        clock[0] += KEPT_SECONDS
        ids.source.side_effect = OperationalError
        assert ids.get() == ids.get() == {"us-east": "no-osl"}
        assert ids.source.call_count == 2

    def test_the_source_gets_the_texts_of_both_sides(self, ids):
        ids.get()
        sent, answered = ids.source.call_args.args
        assert {"us-east", "g6-nanode-1", "compute/debian11"} <= sent
        assert "compute/latest-64bit" in answered - sent


def test_the_document_shows_the_examples():
    for name, example in written().items():
        method, path = name.split()
        operation = document()["paths"][path][method.lower()]
        if "request" in example:
            assert operation["requestBody"]["content"]["application/json"]["example"] == example["request"]
        if "response" in example:
            assert operation["responses"]["200"]["content"]["application/json"]["example"] == example["response"]
