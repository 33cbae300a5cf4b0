"""Rules for every endpoint, including endpoints that are added later."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.entities import grantable
from accounts.models import GlobalGrants
from config.api import access
from config.api.filters import KEYS
from config.api.operations import operation
from config.api.permissions import HasGrant, HasScope
from config.api.throttling import RateLimits
from config.api.views import GenericViewSet, ReadOnlyModelViewSet
from config.server.lanes import Routes
from tests.baselines import compared_with
from tests.client import check
from tests.config.api.conftest import Filled, fill
from tests.config.api.more_rows import add_more
from tests.config.api.routes import Route, lists, reachable, request_of, routes
from tests.databases import rolled_back
from tests.factories import GlobalGrantsFactory, GrantFactory, StackScriptFactory
from tests.locks import touched
from tests.world import make_world

TESTS = Path(__file__).parents[2]
ROUTES = routes()
LISTS = lists()


@pytest.fixture(scope="module")
def shared(django_db_setup, django_db_blocker) -> Iterator[Filled]:
    """Create the filled account once for all operations."""
    with django_db_blocker.unblock(), rolled_back():
        yield fill(make_world())


@pytest.fixture
def filled(shared, db) -> Filled:
    return shared


def needed(scope: access.Scope) -> str:
    if not scope.names:
        return "any token" if scope.token else "public"
    return ",".join(scope.names) + ("" if scope.token else " or none")


def test_permissions_are_as_written_down(write_baselines):
    lines = [f"{route!s:55} {needed(route.scope):35} {route.grant}" for route in ROUTES]
    compared_with(TESTS / "access.txt", lines, write_baselines)


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_route_declares_scope_and_grant(route: Route):
    assert isinstance(route.scope, access.Scope)
    assert access.check_grant_name(route.grant)
    assert callable(getattr(route.view, route.action))


def test_the_grants_are_those_that_users_can_be_given():
    for name in GlobalGrants.names():
        assert access.check_grant_name(name) == name
    assert "add_computes" in GlobalGrants.names()
    assert "account_access" not in GlobalGrants.names()
    for unknown in ("add_houses", "user", ""):
        with pytest.raises(ImproperlyConfigured, match="unknown grant"):
            access.check_grant_name(unknown)


def test_a_view_that_declares_nothing_cannot_be_routed():
    class Forgetful(ReadOnlyModelViewSet):
        def create(self, request): ...

    for method, name in (("get", "list"), ("post", "create")):
        with pytest.raises(ImproperlyConfigured, match=f"{name} declares no scope"):
            Forgetful.as_view({method: name})
    with pytest.raises(ImproperlyConfigured, match="create declares no scope"):
        # the scope for reads does not allow a write
        type("Reader", (Forgetful,), {"required_scopes": access.PUBLIC, "required_grant": access.ANYONE}).as_view(
            {"post": "create"}
        )
    with pytest.raises(ImproperlyConfigured, match="declare both required_scopes and required_grant"):
        type("Half", (ReadOnlyModelViewSet,), {"required_scopes": access.PUBLIC})
    with pytest.raises(ImproperlyConfigured, match="unknown grant"):
        type("Odd", (ReadOnlyModelViewSet,), {"required_scopes": access.PUBLIC, "required_grant": "everything"})
    with pytest.raises(ImproperlyConfigured, match="unknown grant"):
        operation(access.PUBLIC, "everything")


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_route_has_the_permissions_and_the_limits_of_all(route: Route):
    assert issubclass(route.view, GenericViewSet)
    assert route.view.permission_classes[:2] == (HasScope, HasGrant)
    assert RateLimits in route.view.throttle_classes


def test_every_list_costs_the_queries_written_down(filled, client_of, write_baselines):
    """Two queries, whatever the length: authentication, and the page with its total. A list with more needs a
    reason."""
    _, values, user = filled
    client, lines = client_of(user), []
    for route in (route for route in LISTS if reachable(route, values)):
        client.get(route.fill(values))  # compiles the SQL
        with CaptureQueriesContext(connection) as queries:
            response = client.get(route.fill(values))
        assert response.status_code == 200, response.content
        lines.append(f"{route!s:55} {len(queries)}")
    compared_with(TESTS / "query_counts.txt", lines, write_baselines)


def test_no_list_grows_its_queries(filled, client_of):
    world, values, user = filled
    client = client_of(user)

    def counts() -> dict[str, int]:
        found = {}
        for route in (route for route in LISTS if reachable(route, values)):
            with CaptureQueriesContext(connection) as queries:
                client.get(route.fill(values))
            found[str(route)] = len(queries)
        return found

    counts()
    few = counts()
    add_more(world, values, user)
    # fewer is right: if there was nothing, the list queried only its parent
    assert {path: more for path, more in counts().items() if more > few[path]} == {}


def test_reads_on_the_event_loop_lock_no_rows(filled, client_of):
    """A read that writes or locks a row must declare a lane. Otherwise it could block all requests of its
    process."""
    _, values, user = filled
    client, served, locking = client_of(user), Routes(get_resolver()), {}
    for route in (route for route in ROUTES if route.method == "get" and reachable(route, values)):
        address = route.fill(values)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        done = [each for query in queries for each in touched(query["sql"])]
        if done and served.lane_of("GET", address, filtered=False) is None:
            locking[str(route)] = done
    assert not locking


def test_a_value_has_the_type_of_its_field_for_every_caller(filled, client_of, anonymous):
    """Lists and objects: without a token, for a restricted user with grants, and for an owner."""
    world, values, user = filled
    add_more(world, values, user)
    StackScriptFactory(is_public=True)
    restricted = GlobalGrantsFactory(user__account=world.account).user
    for kind in grantable():
        for key in kind.model._default_manager.filter(account=world.account).values_list(kind.key, flat=True):
            GrantFactory(user=restricted, entity_type=kind.name, entity_id=key)
    reads = {route.documented: route for route in ROUTES if route.method == "get"}
    looked_at: Counter[str] = Counter()
    for name, client in {"none": anonymous, "restricted": client_of(restricted), "owner": client_of(user)}.items():
        for route in (route for route in LISTS if reachable(route, values)):
            response = client.get(route.fill(values))
            check("GET", route.fill(values), response)
            if response.status_code != 200:
                continue
            looked_at[name] += bool(response.json()["data"])
            one = reads.get(f"{route.documented}/{{id}}")
            for item in response.json()["data"][:3] if one and one.action != "list" else ():
                key = next(item[key] for key in KEYS if key in item)
                path = one.fill({**values, "id": key})
                check("GET", path, client.get(path))
    assert looked_at["none"] == 5
    assert looked_at["restricted"] >= 25
    assert looked_at["owner"] > 40


GARBAGE_PATHS = (
    "0", "-1", "1.5", "99999999999999999999", "9223372036854775807", "9223372036854775808", "%00", "a%00b", "%ff",
    "%ed%a0%80", "..", "%2e%2e%2f", "'", '"', "%25", "x" * 300, "💥", "null", "1%0a", "٣", "{id}",
)  # fmt: skip
GARBAGE_BODIES = (
    b"", b"{}", b"[]", b"null", b"{", b'{"label": 1}', b'{"label": {}}', b'{"label": "\\u0000"}', b'{"tags": "x"}',
    b'{"tags": [[]]}', b'{"region": []}', b'{"image": {"a": 1}}', b'{"config_id": 99999999999999999999}',
    b'{"config_id": -1}', b'{"config_id": 9223372036854775807}', b'{"label": "\\ud800"}', b"\xff\xfe",
    b'{"alerts": []}', b'{"alerts": {"cpu": 1e300}}', b'{"alerts": {"cpu": 99999999999}}',
    b'{"backups": {"schedule": 3}}',
    b'{"rules": {"inbound": [null], "outbound": [[]]}, "devices": {"computes": [null, -1, 1e300, true]}}',
    b'{"interfaces": [null]}', b'{"authorized_keys": [""]}', b'{"metadata": ' + b"[" * 900 + b"]" * 900 + b"}",
)  # fmt: skip


def refused_or_served(response) -> None:
    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        for error in response.json()["errors"]:
            assert set(error) == {"field", "reason"}
            assert error["reason"]


@pytest.mark.alike
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_garbage_never_breaks_an_endpoint(route: Route, filled, client_of):
    _, values, user = filled
    client = client_of(user)
    for garbage in GARBAGE_PATHS if route.parameters else ():
        path = route.fill(dict.fromkeys(route.parameters, garbage))
        refused_or_served(client.generic(route.method.upper(), path))
    usual = {"id": values["compute_id"], **values}
    path = route.fill({name: usual.get(name, 1) for name in route.parameters})
    if route.method in ("post", "put"):
        for body in GARBAGE_BODIES:
            refused_or_served(client.generic(route.method.upper(), path, body, "application/json"))
    for query in ("page=%00", "page_size=%ff", "label=%00", "label=%ff", "id=99999999999999999999", "a[]=1&%00=2"):
        refused_or_served(client.generic(route.method.upper(), f"{path}?{query}", b"{}", "application/json"))


TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
WRITES = [route for route in ROUTES if route.method in ("post", "put")]


def names_of(route: Route) -> list[str]:
    serializer = request_of(route)
    return (sorted(serializer().fields) if serializer else []) or ["x"]


@pytest.mark.generated
@pytest.mark.parametrize("route", WRITES, ids=str)
def test_no_body_breaks_an_endpoint(route: Route, filled, client_of):
    _, values, user = filled
    client = client_of(user)
    path = route.fill(dict.fromkeys(route.parameters, values["compute_id"]))

    @settings(max_examples=40, suppress_health_check=list(HealthCheck), database=None)
    @given(st.dictionaries(st.sampled_from(names_of(route)) | TEXT, JSON, max_size=6))
    def hammer(body):
        # escaped, as clients may send them: lone surrogates and NUL are valid in JSON
        text = json.dumps(body).encode("ascii")
        refused_or_served(client.generic(route.method.upper(), path, text, "application/json"))

    hammer()


@pytest.mark.parametrize("route", LISTS, ids=str)
def test_every_filterable_field_of_every_list_can_be_used(route: Route, filled, client_of):
    _, values, user = filled
    client = client_of(user)
    if not reachable(route, values):
        pytest.skip("no object is at hand to list under")
    path = route.fill(values)
    operators = ("+gt", "+gte", "+lt", "+lte", "+neq", "+contains")
    samples = ("a", "2024-01-01T00:00:00", 1, 1.5, True, None, 2**63, [], "\u0000")
    for name in route.filters:
        worked = 0
        for operator, value in itertools.product((None, *operators), samples):
            wanted = {name: value if operator is None else {operator: value}}
            response = client.get(path, headers={"X-Filter": orjson.dumps(wanted).decode()})
            refused_or_served(response)
            worked += response.status_code == 200
        assert worked, f"{name} accepts nothing"
        for several in (["a", "b"], [1, 40_000, 2**31, 2**40, 2**63, -(2**63)], [True, False], [1.5, 2**63]):
            refused_or_served(
                client.get(path, headers={"X-Filter": orjson.dumps({name: {"+or": several}}).decode()})
            )
        for order in ("asc", "desc"):
            wanted = {"+order_by": name, "+order": order}
            assert client.get(path, headers={"X-Filter": orjson.dumps(wanted).decode()}).status_code == 200
