"""Every list and every object has the same JSON from the compiled function and from DRF's fields."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now
from rest_framework.serializers import Serializer

from accounts.entities import kind_of
from compute.models import Backup
from config.api.compiled import CompiledViewSet
from config.api.parsers import JSONRenderer
from config.api.responses import to_json
from config.api.serializers import Resource
from config.api.views import UnionViewSet
from config.db.statements import SymbolicActor, SymbolicPath, page_of
from tags.resources import resource_of
from tags.services import set_tags
from tests.client import APIClient
from tests.config.api.more_rows import add_more
from tests.config.api.routes import Route, routes
from tests.factories import token_of

COMPOSED = {"/v4/tags/{id}"}
"""Lists whose view composes the items from several resources. They have a test of their own."""
READ = [
    route
    for route in routes()
    if route.action in ("list", "retrieve") and route.documented not in COMPOSED
    if issubclass(route.view, CompiledViewSet | UnionViewSet)
]


def shown_by(route: Route) -> type[Resource]:
    """Return the resource whose rows a view reads."""
    return route.serializer


def querysets(route: Route, actor: Any, path: Any) -> list[QuerySet]:
    """Return the querysets of the rows that the actor may see, before a page or an object is chosen."""
    if issubclass(route.view, UnionViewSet):
        return list(route.view.tables(actor))
    return [route.view.outside_of_requests(route.action, actor, path).get_queryset()]


@pytest.fixture
def rows_of(filled):
    """Return a function that gives a route's querysets, in an account that has several of everything."""
    world, values, user = filled
    add_more(world, values, user)
    disks = [{"label": "root", "size": 100, "filesystem": "ext4", "archive": "skerry-backup-1-0"}]
    for label in (None, "snapshot"):
        Backup.objects.create(
            account=world.account, instance_id=values["compute_id"], region=world.region, type="snapshot",
            label=label, status="successful", disks=disks, configs=["boots"], finished=now() if label else None,
        )  # fmt: skip
    values = {**values, "id": values["compute_id"]}
    actor = world.actor
    return lambda route: querysets(route, actor, values)


def compiled(resource: type[Resource], queryset: QuerySet) -> list[dict]:
    """Return rows of a compiled statement, as the compiled function shows them."""
    shape = resource.shape()
    statement = page_of(shape.select(queryset), shape.columns, ("pk",))
    return shape.page(statement.run({"limit": 500, "offset": 0}))


def walked(resource: type[Resource], queryset: QuerySet) -> Iterator[Any]:
    """Yield model instances, as DRF's fields show them."""
    serializer = resource()
    for instance in resource.select(queryset).order_by("pk"):
        yield Serializer.to_representation(serializer, instance)


@pytest.mark.parametrize("route", READ, ids=str)
def test_both_ways_give_the_same_bytes(route: Route, rows_of):
    resource, found = shown_by(route), 0
    for queryset in rows_of(route):
        fast = compiled(resource, queryset)
        found += len(fast)
        with CaptureQueriesContext(connection) as queries:
            slow = list(walked(resource, queryset))
        assert JSONRenderer().render(slow) == to_json(fast), route
        assert len(queries) == 1, "a list takes one query, however long it is"
        instances = resource.select(queryset).order_by("pk")
        assert JSONRenderer().render(resource(instances, many=True).data) == to_json(fast), route
    assert found, f"{route} has no rows to compare"


@pytest.mark.parametrize("kind", ["compute", "domain", "nodebalancer", "volume"])
def test_a_tag_shows_its_members_in_both_ways(kind: str, filled):
    """The view composes the list, and shows each member by its own resource's compiled function."""
    world, values, user = filled
    add_more(world, values, user)
    resource, model = resource_of(kind), kind_of(kind).model
    members = model._default_manager.filter(account=world.account)
    for member in members:
        set_tags(world.account.pk, kind, member.pk, ["both-ways"])
    answer = APIClient(token_of(user)).get("/v4/tags/both-ways?page_size=100")
    shown = [item["data"] for item in answer.json()["data"] if item["type"] == kind]
    slow = [Serializer.to_representation(resource(), each) for each in resource.select(members.order_by("pk"))]
    assert len(shown) > 1
    assert sorted(shown, key=by_id) == sorted(json.loads(JSONRenderer().render(slow)), key=by_id)


def by_id(shown: dict[str, Any]) -> int:
    return shown["id"]


@pytest.mark.django_db  # Django queries the server's version for some expressions
@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("route", READ, ids=str)
def test_every_statement_compiles(route: Route, restricted: bool):
    for queryset in querysets(route, SymbolicActor(restricted), SymbolicPath()):
        shape = shown_by(route).shape()
        assert page_of(shape.select(queryset), shape.columns, ("pk",)).sql, route
