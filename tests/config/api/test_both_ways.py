"""Every list and every object is the same by the compiled function and by DRF's walk over the fields."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now
from rest_framework.serializers import Serializer

from compute.models import Backup
from config.api.compiled import CompiledViewSet
from config.api.parsers import JSONRenderer
from config.api.responses import to_json
from config.api.serializers import Resource
from config.api.views import UnionViewSet
from config.db.statements import SymbolicActor, SymbolicPath, page_of
from tests.config.api.more_rows import add_more
from tests.config.api.routes import Route, routes

COMPOSED = {"/v4/tags/{id}"}
"""Lists whose view composes the items itself, from several resources."""
READ = [
    route
    for route in routes()
    if route.action in ("list", "retrieve") and route.documented not in COMPOSED
    if issubclass(route.view, CompiledViewSet | UnionViewSet)
]


def shown_by(route: Route) -> type[Resource]:
    """The resource whose rows a view reads."""
    return route.serializer


def querysets(route: Route, actor: Any, path: Any) -> list[QuerySet]:
    """The rows that exist for the actor, before a page or an object is chosen."""
    if issubclass(route.view, UnionViewSet):
        return list(route.view.tables(actor))
    return [route.view.outside_of_requests(route.action, actor, path).get_queryset()]


@pytest.fixture
def rows_of(filled):
    """Give the querysets of a route in an account that has several of everything."""
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
    """Rows of a compiled statement, as the compiled function shows them."""
    shape = resource.shape()
    statement = page_of(shape.select(queryset), shape.columns, ("pk",))
    return shape.page(statement.run({"limit": 500, "offset": 0}))


def walked(resource: type[Resource], queryset: QuerySet) -> Iterator[Any]:
    """Model instances, as DRF's walk over the fields shows them."""
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


@pytest.mark.django_db  # Django asks the server's version for some expressions
@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("route", READ, ids=str)
def test_every_statement_compiles(route: Route, restricted: bool):
    for queryset in querysets(route, SymbolicActor(restricted), SymbolicPath()):
        shape = shown_by(route).shape()
        assert page_of(shape.select(queryset), shape.columns, ("pk",)).sql, route
