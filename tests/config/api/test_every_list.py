"""Filters, orders and query parameters of every list, including lists that are added later."""

import ipaddress
import itertools
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.api.filters import KEYS
from config.filters import OPERATORS
from tests.client import document
from tests.config.api.more_rows import TAG, add_more
from tests.config.api.routes import Route, lists, reachable

LISTS = lists()
WITHOUT_KEY = {"/v4/tags/{id}"}
"""Lists whose items have no field of their own, because they show entities of several kinds."""
WORKED_OUT = {
    "Address": {"gateway", "subnet_mask", "rdns"},
    "App": {"thumbnail_url", "website"},
    "IPv6Pool": {"route_target"},
    "IPv6Range": {"route_target"},
    "NodeBalancerConfig": {"ssl_cert", "ssl_key"},
    "Notification": {"message", "body"},
    "OAuthClient": {"secret", "thumbnail_url"},
    "Reply": {"friendly_name"},
}
"""Plain fields that no list is ordered by. Python computes their values, so no column has their order."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
SCALARS = {"string", "integer", "number", "boolean", "null"}

Ask = Callable[..., Any]


@pytest.fixture
def ask(filled, client_of) -> Ask:
    """Return a function that requests a list, as the owner of an account that has several of everything."""
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
    """Return the reason for which a filter was refused."""
    assert response.status_code == 400, response.content
    (error,) = response.json()["errors"]
    assert error["field"] == "X-Filter"
    return error["reason"]


def key_of(route: Route) -> str:
    """Return the contract's key for the order of a list: `id`, or else the first of `KEYS` that its items have."""
    return next((name for name in KEYS if name in route.serializer.names()), "")


def rank(value: Any) -> Any:
    """Return the rank of a key in PostgreSQL's order. Addresses are ordered by number."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return value
    return address.version, int(address)


KEYED = [route for route in LISTS if key_of(route)]


def test_every_list_has_a_key():
    assert {route.documented for route in LISTS} - {route.documented for route in KEYED} == WITHOUT_KEY
    for route in KEYED:
        assert key_of(route) in route.filters, route


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
        # the order of texts depends on the locale of the database
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


def test_empty_filters_find_everything_at_no_cost(ask: Ask):
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
        for name in route.filters:
            for wanted in ({"+like": "x"}, {"+or": [{"+like": "x"}]}):
                assert reason(ask(route, {name: wanted})) == "Unknown operator +like", route


def test_a_field_without_a_condition_is_refused(ask: Ask):
    for route in LISTS:
        for name in route.filters:
            for wanted in ({}, {"+or": []}, {"+and": [{}]}):
                assert reason(ask(route, {"+and": [{name: wanted}]})) == f"{name} is not valid", route


def test_fields_that_cannot_be_filtered_are_named(ask: Ask):
    for route in LISTS:
        resource = route.serializer
        for name in sorted(resource.paths() - set(route.filters)):
            assert reason(ask(route, query=f"?{name}=x")) == f"Cannot filter on {name}", route
            assert reason(ask(route, {name: "x"})) == f"Cannot filter on {name}", route
        for name in sorted(resource.paths() - set(route.orders)):
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


def parameter_of(route: Route) -> str:
    """Return the description of a list's filters and orders in the document."""
    (found,) = (
        each["description"]
        for each in document()["paths"][route.documented]["get"]["parameters"]
        if each["name"] == "X-Filter"
    )
    return found


def schema_of(route: Route) -> tuple[str, dict[str, Any]]:
    """The name and the schema of a list's items, in the document."""
    schemas = document()["components"]["schemas"]
    page = document()["paths"][route.documented]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    item = schemas[page["$ref"].rpartition("/")[2]]["properties"]["data"]["items"]["$ref"].rpartition("/")[2]
    return item, schemas[item]


def kinds_of(schema: dict[str, Any]) -> set[str]:
    """Return the JSON types of a field's values, by its schema in the document."""
    if "$ref" in schema:
        return kinds_of(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    several = [*schema.get("oneOf", ()), *schema.get("allOf", ()), *schema.get("anyOf", ())]
    kinds = schema.get("type", [])
    return {*([kinds] if isinstance(kinds, str) else kinds), *(kind for each in several for kind in kinds_of(each))}


def test_a_list_is_ordered_by_every_plain_field_of_the_document():
    """A new field can be ordered by, or is listed in `WORKED_OUT`."""
    unordered: dict[str, set[str]] = {}
    for route in LISTS:
        item, schema = schema_of(route)
        plain = {name for name, each in schema["properties"].items() if kinds_of(each) <= SCALARS}
        if lacking := plain - set(route.orders):
            unordered[item] = lacking
    assert unordered == WORKED_OUT


def test_the_document_names_the_filters_and_orders_of_every_list():
    for route in LISTS:
        filters, _, orders = parameter_of(route).partition(". ")
        named = set(re.findall(r"`([^`]+)`", filters))
        assert named == set(route.filters), route
        also = named if "the same" in orders else set()
        assert {*re.findall(r"`([^`]+)`", orders), *also} - {"+order_by"} == set(route.orders), route
        marked = {name for name, each in schema_of(route)[1]["properties"].items() if each.get("x-filterable")}
        assert marked == {name for name in named if "." not in name}, route


def at(item: dict, name: str) -> Any:
    """Return the value of a field, or of a nested field by its path. For a list of objects, use the first
    label."""
    value: Any = item
    for part in name.split("."):
        value = value[0] if isinstance(value, list) and value else value
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, list) and value:
        return value[0]["label"] if isinstance(value[0], dict) else value[0]
    return None if value == [] else value


def in_groups(values: list[Any]) -> bool:
    """Tell whether equal values are adjacent. The order of texts is known to the database alone."""
    return len(list(itertools.groupby(values))) == len(set(values))


def test_every_list_can_be_ordered_by_each_of_its_plain_fields(ask: Ask):
    for route in LISTS:
        unordered = found(ask(route))
        for name in route.orders:
            up = found(ask(route, {"+order_by": name}))
            down = found(ask(route, {"+order_by": name, "+order": "desc"}))
            where = f"{route} by {name}"
            assert sorted(map(orjson.dumps, up)) == sorted(map(orjson.dumps, down)), where
            if any(isinstance(item.get(name.split(".")[0]), list) for item in unordered):
                continue  # arrays are ordered too, in PostgreSQL's own order
            values = [at(item, name) for item in up]
            assert [at(item, name) for item in down] == values[::-1], where
            there = [value for value in values if value is not None]
            assert values[: len(there)] == there, f"{where}: nulls come last"
            if all(isinstance(value, bool | int | float) or TIME.fullmatch(value) for value in there):
                assert there == sorted(there), where
            else:
                assert in_groups(there), where


def sensible(route: Route, name: str) -> set[str]:
    """Return the operators that make sense for a field, by its type in the document."""
    _, schema = schema_of(route)
    kinds: set[str] = set()
    for part in name.split("."):
        while "$ref" in schema or "allOf" in schema or "oneOf" in schema:
            inner = schema if "$ref" in schema else (schema.get("allOf") or schema["oneOf"])[0]
            schema = document()["components"]["schemas"][inner["$ref"].rpartition("/")[2]]
        schema = schema.get("items", schema)["properties"][part]
        kinds |= kinds_of(schema)
    if "array" in kinds:
        return {"neq", "contains"}
    if "boolean" in kinds:
        return {"neq"}
    return {*OPERATORS} - ({"contains"} if schema.get("format") == "date-time-local" else set())


def test_each_field_takes_every_operator_that_makes_sense_for_it(ask: Ask):
    for route in LISTS:
        items = found(ask(route))
        for name in route.filters:
            # if no object has a value: one that is valid for texts and times
            value = next((value for item in items if (value := at(item, name)) is not None), "2024-01-01T00:00:00")
            taken = {
                operator for operator in OPERATORS if ask(route, {name: {f"+{operator}": value}}).status_code == 200
            }
            assert taken == sensible(route, name), f"{route} by {name}"


def test_a_search_finds_items_that_show_the_text(ask: Ask):
    for route in LISTS:
        items = found(ask(route))
        for name in route.filters:
            if "contains" not in sensible(route, name):
                continue
            for item in items:
                if (value := at(item, name)) not in (None, ""):
                    text = str(value)[-3:]
                    data = found(ask(route, {name: {"+contains": text}}))
                    assert item in data, f"{route}: {text} in {name}"
                    assert all(text in shown(each, name) for each in data), f"{route}: {text} in {name}"
                    assert found(ask(route, {name: {"+contains": f"{text}~"}})) == [], f"{route}: {text}~ in {name}"


def shown(item: dict, name: str) -> str:
    """Return all that an item shows of a field, as a text."""
    return orjson.dumps(item.get(name.split(".")[0])).decode()


def test_a_search_box_looks_through_numbers_texts_and_addresses(ask: Ask):
    routes = {route.documented: route for route in LISTS}
    for path, names in {
        "/v4/compute/instances": ("id", "label", "tags", "ipv4"),
        "/v4/nodebalancers": ("label", "ipv4"),
        "/v4/domains": ("domain",),
        "/v4/volumes": ("id", "label", "region"),
    }.items():
        everything = found(ask(routes[path], query="?page_size=500"))
        for text in ("1", "e", "198."):
            wanted = {"+or": [{name: {"+contains": text}} for name in names]}
            expected = [item for item in everything if any(text in shown(item, name) for name in names)]
            assert found(ask(routes[path], wanted, query="?page_size=500")) == expected, (path, text)


def test_a_page_past_the_last_is_empty_and_has_the_true_total(ask: Ask):
    for route in LISTS:
        first = ask(route).json()
        for number in (2, 100, 10**18, 2**63 - 1, 10**30):
            for x_filter in (None, {"+order": "asc"}):
                response = ask(route, x_filter, query=f"?page={number}")
                assert response.status_code == 200, route
                assert response.json() == {**first, "data": [], "page": min(number, 2**63 - 1)}, route


def strangers(key: str, like: Any, count: int) -> list[Any]:
    """Return unused keys, of the type of `like`."""
    if isinstance(like, int):
        return list(range(10**9, 10**9 + count))
    if key in ("address", "range"):
        return [f"2001:db8:dead::{number:x}" for number in range(count)]
    if key == "when":
        return [f"1999-01-01T00:{number // 60:02}:{number % 60:02}" for number in range(count)]
    return [f"x{number}" for number in range(count)]
