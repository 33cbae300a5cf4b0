"""The filter sets of all lists agree with their serializers, and `XFilterBackend` with the lists."""

from typing import Any

import orjson
import pytest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from accounts.filters.events import EntityIdFilter
from compute.api.catalogue import KernelViewSet
from compute.models import Kernel
from config import filters
from config.api import fields
from config.api.filters import XFilterBackend
from config.api.views import UnionViewSet
from config.db.statements import SymbolicActor, SymbolicPath
from tests.config.api.routes import Route, lists

LISTS = lists()
WITHOUT = {"/v4/tags/{id}"}
"""Lists that cannot be filtered: they show entities of several kinds."""
TYPES: tuple[tuple[type[serializers.Field], type[filters.Filter]], ...] = (
    (serializers.DateTimeField, filters.DateTimeFilter),
    (serializers.BooleanField, filters.BooleanFilter),
    (serializers.IntegerField, filters.NumberFilter),
    (serializers.FloatField, filters.DecimalFilter),
    (serializers.DecimalField, filters.DecimalFilter),
    (serializers.IPAddressField, filters.AddressFilter),
    (serializers.ListField, filters.ArrayFilter),
    (serializers.JSONField, filters.LabelsFilter),
    (fields.CaselessField, filters.CaselessFilter),
)
OWN = {("/v4/account/events", "entity.id"): EntityIdFilter}
"""Fields whose type is none of the above."""


def field_of(route: Route, name: str) -> tuple[str, serializers.Field]:
    """Return the ORM path and the field of a list's field name. Nested fields have a path."""
    *outer, last = name.removesuffix(".label" if name == "interfaces.label" else "").split(".")
    holder: Any = route.serializer()
    prefix = ""
    for part in outer:
        holder = holder.fields[part]
        prefix += "" if holder.source == "*" else f"{fields.column_of(holder)}__"
    child = holder.fields[last]
    path = child.columns[0] if isinstance(child, fields.Computed) else fields.column_of(child)
    path = f"api_{last}" if isinstance(child, fields.Annotated) else path
    return prefix + path, child.child if isinstance(child, fields.Wrapping) else child


def test_every_list_has_a_filter_set():
    assert {route.documented for route in LISTS if route.view.filterset_class is None} == WITHOUT
    for route in LISTS:
        if filterset := route.view.filterset_class:
            assert issubclass(filterset, filters.FilterSet), route
            assert filterset.base_filters, route


@pytest.mark.parametrize("route", LISTS, ids=str)
def test_each_filter_has_the_column_and_the_type_of_the_serializers_field(route: Route):
    for name, declared in route.filters.items():
        path, field = field_of(route, name)
        assert declared.field_name == path, f"{route}: {name}"
        default = next((kind for base, kind in TYPES if isinstance(field, base)), filters.CharFilter)
        assert isinstance(declared, OWN.get((route.documented, name), default)), f"{route}: {name}"


@pytest.mark.parametrize("route", LISTS, ids=str)
def test_each_filter_set_has_the_model_of_its_list(route: Route):
    filterset = route.view.filterset_class
    if filterset is None:
        return
    if issubclass(route.view, UnionViewSet):
        assert filterset._meta.model is None
        return
    rows = route.view.outside_of_requests("list", SymbolicActor(False), SymbolicPath()).get_queryset()
    assert rows.model is filterset._meta.model
    assert XFilterBackend().get_filterset_class(route.view, rows) is filterset


@pytest.fixture
def kernels(db):
    for position, (label, kvm) in enumerate([("gamma", True), ("beta", False), ("alpha", True)]):
        Kernel.objects.create(
            id=f"k/{label}", label=label, version="5", kvm=kvm, architecture="x86_64", position=position
        )


ASKED = [
    (None, "", ["gamma", "beta", "alpha"]),
    ({}, "", ["gamma", "beta", "alpha"]),
    (None, "?page=1&colour=red", ["gamma", "beta", "alpha"]),
    ({"kvm": True}, "", ["gamma", "alpha"]),
    (None, "?kvm=true", ["gamma", "alpha"]),
    ({"+or": [{"label": "beta"}, {"label": "alpha"}]}, "?kvm=true", ["alpha"]),
    ({"+order_by": "label"}, "", ["alpha", "beta", "gamma"]),
    ({"+order": "desc", "kvm": True}, "", ["gamma", "alpha"]),
]


@pytest.mark.parametrize(("x_filter", "query", "labels"), ASKED)
def test_the_backend_finds_and_orders_as_the_list(kernels, anonymous, x_filter, query, labels):
    headers = {} if x_filter is None else {"X-Filter": orjson.dumps(x_filter).decode()}
    path = f"/v4/compute/kernels{query}"
    request = Request(APIRequestFactory().get(path, headers=headers))
    rows = XFilterBackend().filter_queryset(request, Kernel.objects.all(), KernelViewSet())
    assert [each.label for each in rows] == labels
    assert [each["label"] for each in anonymous.get(path, headers=headers).json()["data"]] == labels


@pytest.mark.parametrize(("x_filter", "query", "labels"), ASKED)
def test_no_request_makes_a_filter_set(kernels, anonymous, monkeypatch, x_filter, query, labels):
    def made(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a filter set was made")

    monkeypatch.setattr(filters.FilterSet, "__init__", made)
    headers = {} if x_filter is None else {"X-Filter": orjson.dumps(x_filter).decode()}
    response = anonymous.get(f"/v4/compute/kernels{query}", headers=headers)
    assert [each["label"] for each in response.json()["data"]] == labels


def test_a_view_without_a_filter_set_orders_alone(db):
    (route,) = (each for each in LISTS if each.view.filterset_class is None)
    assert route.filters == {}
    (described,) = XFilterBackend().get_schema_operation_parameters(route.view)
    assert described["description"] == "A filter, as a JSON object (see *X-Filter*). `+order_by` takes `type`."
