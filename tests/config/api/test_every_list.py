"""Filters, orders and query parameters of every list: what has to hold for those to come, too."""

import ipaddress
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.api.filters import KEYS
from tests.config.api.more_rows import TAG, add_more
from tests.config.api.routes import Route, lists, reachable

LISTS = lists()
WITHOUT_KEY = {"/v4/tags/{id}"}
"""Lists whose items have no field of their own: they show entities of several kinds."""

Ask = Callable[..., Any]


@pytest.fixture
def ask(filled, client_of) -> Ask:
    """Asks for a list of an account that has several of everything, as its owner."""
    world, values, user = filled
    add_more(world, values, user)
    client, values = client_of(user), {**values, "id": TAG}

    def ask(route: Route, x_filter: Any = None, query: str = "", header: str | None = None):
        assert reachable(route, values), f"{route} wants an object to list under"
        headers = {} if header is None else {"X-Filter": header}
        if x_filter is not None:
            headers["X-Filter"] = orjson.dumps(x_filter).decode()
        return client.get(f"{route.fill(values)}{query}", headers=headers)

    return ask


def found(response) -> list[dict]:
    assert response.status_code == 200, response.content
    return response.json()["data"]


def reason(response) -> str:
    """Why a filter was refused."""
    assert response.status_code == 400, response.content
    (error,) = response.json()["errors"]
    assert error["field"] == "X-Filter"
    return error["reason"]


def key_of(route: Route) -> str:
    """What the contract orders a list by: `id`; where its items have none, the first of `KEYS` that they have."""
    return next((name for name in KEYS if name in route.view.resource.names()), "")


def rank(value: Any) -> Any:
    """How PostgreSQL orders a key: addresses by their number."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return value
    return address.version, int(address)


KEYED = [route for route in LISTS if key_of(route)]


def test_every_list_has_a_key():
    assert {route.documented for route in LISTS} - {route.documented for route in KEYED} == WITHOUT_KEY
    for route in KEYED:
        assert key_of(route) in route.view.resource.filterable(), route


def test_no_list_has_blanks_between_values(ask: Ask):
    for route in LISTS:
        content = ask(route).content
        assert content == orjson.dumps(orjson.loads(content)), route


def test_every_list_can_be_ordered_by_its_key(ask: Ask):
    for route in KEYED:
        key = key_of(route)
        up = [item[key] for item in found(ask(route, {"+order_by": key}))]
        down = [item[key] for item in found(ask(route, {"+order_by": key, "+order": "desc"}))]
        assert len(up) > 1, f"{route} shows no order"
        numbers = not isinstance(up[0], str) or ":" in up[0] or "." in up[0]
        # of texts, only the database knows: it may have been made with any locale
        assert up == (sorted(up, key=rank) if numbers else down[::-1]), route
        assert sorted(down, key=rank, reverse=True) == down or not numbers, route
        assert set(up) == set(down), route


def test_an_order_alone_is_that_of_the_key(ask: Ask):
    for route in LISTS:
        up, down = (found(ask(route, {"+order": order})) for order in ("asc", "desc"))
        key = key_of(route)
        if key:
            assert up == found(ask(route, {"+order_by": key})), route
            assert down == found(ask(route, {"+order_by": key, "+order": "desc"})), route
        else:
            assert up == down[::-1] == found(ask(route)), route
        assert up != down, route


def test_what_says_nothing_is_no_filter(ask: Ask):
    for route in LISTS:
        ask(route)  # compiles the SQL

        def asked(**what) -> tuple[list[dict], int]:
            with CaptureQueriesContext(connection) as queries:
                data = found(ask(route, **what))  # noqa: B023 - called at once
            return data, len(queries)

        plain = asked()
        for nothing in ({}, {"+and": []}, {"+or": []}, {"+and": [{}, {"+or": []}]}):
            assert asked(x_filter=nothing) == plain, route
        for header in ("", "  "):
            assert asked(header=header) == plain, route
        assert asked(query="?colour=red&entity.colour=red&+order=x&page=1") == plain, route


def test_unknown_operators_are_named(ask: Ask):
    for route in LISTS:
        for wanted in ({"+like": "x"}, {"+and": [{"+or": [{"+like": "x"}]}]}):
            assert reason(ask(route, wanted)) == "Unknown operator +like", route
        for name in route.view.resource.filterable():
            for wanted in ({"+like": "x"}, {"+or": [{"+like": "x"}]}):
                assert reason(ask(route, {name: wanted})) == "Unknown operator +like", route


def test_a_field_of_which_nothing_is_said_is_refused(ask: Ask):
    for route in LISTS:
        for name in route.view.resource.filterable():
            for wanted in ({}, {"+or": []}, {"+and": [{}]}):
                assert reason(ask(route, {"+and": [{name: wanted}]})) == f"{name} is not valid", route


def test_fields_that_cannot_be_filtered_are_named(ask: Ask):
    for route in LISTS:
        resource = route.view.resource
        for name in sorted(resource.paths() - set(resource.filterable())):
            assert reason(ask(route, query=f"?{name}=x")) == f"Cannot filter on {name}", route
            assert reason(ask(route, {name: "x"})) == f"Cannot filter on {name}", route
            assert reason(ask(route, {"+order_by": name})) == f"Cannot order by {name}", route


def test_a_page_of_keys_finds_those_that_are_there(ask: Ask):
    for route in KEYED:
        key = key_of(route)
        there = found(ask(route, query="?page_size=500"))
        values = [item[key] for item in there if item[key] is not None]
        wanted = [*strangers(key, values[0], 500 - len(values)), *values]
        for x_filter in ({"+or": [{key: value} for value in wanted]}, {key: {"+or": wanted}}):
            with CaptureQueriesContext(connection) as queries:
                data = found(ask(route, x_filter, query="?page_size=500"))
            assert data == [item for item in there if item[key] is not None], route
            assert len(queries) < 6, f"{route}: the queries follow the number of conditions"


def strangers(key: str, like: Any, count: int) -> list[Any]:
    """Keys that nothing has, of the type that `like` has."""
    if isinstance(like, int):
        return list(range(10**9, 10**9 + count))
    if key in ("address", "range"):
        return [f"2001:db8:dead::{number:x}" for number in range(count)]
    if key == "when":
        return [f"1999-01-01T00:{number // 60:02}:{number % 60:02}" for number in range(count)]
    return [f"x{number}" for number in range(count)]
