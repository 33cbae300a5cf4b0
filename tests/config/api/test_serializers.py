"""Resources: input and output."""

import linecache
import traceback
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from config.api.exceptions import flatten
from config.api.fields import Absent, Computed, Constant, NullWhenEmptyField
from config.api.parsers import JSONRenderer, refuse_nul
from config.api.serializers import Resource


class Port(Resource):
    number = serializers.IntegerField(min_value=1, max_value=65535)
    protocol = serializers.ChoiceField(["tcp", "udp"], required=False)


class Size(Resource):
    disk = serializers.IntegerField(source="plan.disk", read_only=True)


class Box(Resource):
    id = serializers.IntegerField(read_only=True)
    label = serializers.CharField(min_length=3, max_length=64)
    comment = serializers.CharField(allow_blank=True, allow_null=True, required=False)
    active = serializers.BooleanField(required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=5), max_length=3, required=False)
    ports = Port(many=True, required=False)
    main = Port(required=False)
    kind_ = serializers.CharField(source="box_kind", read_only=True)
    size = Size(source="*", read_only=True)
    hypervisor = Constant(serializers.CharField(), "kvm")
    full_name = Computed(serializers.CharField(), lambda number, label: f"{number}-{label}", "id", "label")
    created = serializers.DateTimeField(read_only=True)


def problems(data, partial=False) -> dict[str | None, str]:
    with pytest.raises(ValidationError) as refused:
        Box.validated(data, partial)
    return {problem["field"]: problem["reason"] for problem in flatten(refused.value.detail)}


def test_each_failing_item_of_a_list_is_named():
    assert problems({"label": "box", "tags": [7, "good", "toolong"]}) == {
        "tags[0]": "tags is not valid",
        "tags[2]": "Length must be at most 5 characters",
    }


def test_all_failing_fields_are_reported_at_once():
    assert problems({"active": "yes", "tags": ["toolong"], "ports": [{"number": 1}, {"number": 0}]}) == {
        "label": "label is required",
        "active": "active is not valid",
        "tags[0]": "Length must be at most 5 characters",
        "ports[1].number": "number must be 1-65535",
    }


def test_a_list_that_is_longer_than_declared_has_one_problem():
    """A list that is too long has one problem, however many items it has. No item is checked."""
    assert problems({"label": "box", "tags": ["toolong"] * 4}) == {"tags": "tags must be at most 3 items"}


@pytest.mark.parametrize("item", [{}, "wrong", 0])
def test_a_list_that_is_much_too_long_has_one_problem(item):
    assert problems({"label": "box", "ports": [item] * 10_001}) == {"ports": "ports must be at most 10000 items"}
    assert len(problems({"label": "box", "ports": [{"number": 0}] * 10_000})) == 10_000


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        ({"label": 123}, "label", "label is not valid"),
        ({"label": None}, "label", "label is required"),
        ({"label": ""}, "label", "Length must be 3-64 characters"),
        ({"label": "x" * 65}, "label", "Length must be 3-64 characters"),
        ({"label": ["web"]}, "label", "label is not valid"),
        ({"label": "web", "active": 1}, "active", "active is not valid"),
        ({"label": "web", "main": []}, "main", "main is not valid"),
        ({"label": "web", "ports": [None]}, "ports[0]", "ports is not valid"),
        ({"label": "web", "main": {"number": True}}, "main.number", "main.number is not valid"),
        ({"label": "web", "main": {"number": "80"}}, "main.number", "main.number is not valid"),
        ({"label": "web", "main": {"number": 2**70}}, "main.number", "main.number must be 1-65535"),
        ({"label": "web", "main": {"number": 1, "protocol": "x"}}, "main.protocol", "main.protocol is not valid"),
        ({"label": "web", "main": {"number": 1, "protocol": []}}, "main.protocol", "main.protocol is not valid"),
        ({"label": "web", "ports": {"number": 1}}, "ports", "ports is not valid"),
        ({"label": "web", "ports": [7]}, "ports[0]", "ports is not valid"),
        ({"label": "web", "tags": "one"}, "tags", "tags is not valid"),
        ({"label": "web", "tags": ["a", 7]}, "tags[1]", "tags is not valid"),
        ({"label": "web", "tags": ["a", None]}, "tags[1]", "tags is not valid"),
        ({"label": "web", "tags": ["a"] * 4}, "tags", "tags must be at most 3 items"),
    ],
)
def test_reasons_follow_the_contracts_patterns(data, field, reason):
    assert problems(data) == {field: reason}


class Letter(Resource):
    country = serializers.CharField(min_length=2, max_length=2, required=False)
    code = serializers.CharField(min_length=6, required=False)
    pages = serializers.IntegerField(min_value=1, max_value=1, required=False)
    stamps = serializers.ListField(child=serializers.CharField(), min_length=3, max_length=3, required=False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"country": "NOR"}, "Length must be 2 characters"),
        ({"country": ""}, "Length must be 2 characters"),
        ({"code": "123"}, "Length must be at least 6 characters"),
        ({"pages": 2}, "pages must be 1"),
        ({"stamps": ["a"]}, "stamps must be 3 items"),
    ],
    ids=str,
)
def test_equal_bounds_are_named_once(data, reason):
    with pytest.raises(ValidationError) as refused:
        Letter.validated(data)
    assert [problem["reason"] for problem in flatten(refused.value.detail)] == [reason]


def test_unknown_and_read_only_fields_are_ignored():
    assert Box.validated({"label": "web", "id": 7, "created": "never", "colour": "red"}) == {"label": "web"}


def test_null_is_taken_as_not_given_where_a_field_does_not_say_otherwise():
    nulls: dict[str, Any] = {"tags": None, "ports": None, "main": None, "active": None}
    assert Box.validated({"label": "web", **nulls}) == {"label": "web"}
    assert Box.validated({"label": None, **nulls}, partial=True) == {}
    assert problems({"label": None}) == {"label": "label is required"}


def test_valid_fields_are_read_although_others_fail():
    body = Box.read_body({"comment": "x", "active": "yes", "main": {"number": 80, "protocol": "x"}, "ports": [{}]})
    assert dict(body) == {"comment": "x", "main": {"number": 80}}
    assert [(problem.field, problem.reason) for problem in body.problems] == [
        ("label", "label is required"),
        ("active", "active is not valid"),
        ("ports[0].number", "number is required"),
        ("main.protocol", "main.protocol is not valid"),
    ]


def test_an_object_without_a_required_field_is_not_read_in_part():
    body = Box.read_body({"label": "web", "main": {"number": 0, "protocol": "tcp"}})
    assert dict(body) == {"label": "web"}
    assert [problem.field for problem in body.problems] == ["main.number"]


def test_a_body_that_is_no_object_is_refused_at_once():
    with pytest.raises(ValidationError):
        Box.read_body(["label"])


def test_put_takes_any_part_of_an_object():
    assert Box.validated({"comment": None}, partial=True) == {"comment": None}


def test_put_takes_the_items_of_a_list_as_a_whole():
    """A list replaces the present one, so fields that an item leaves out keep no earlier value."""
    assert problems({"ports": [{"number": 1}, {"protocol": "udp"}, {}]}, partial=True) == {
        "ports[1].number": "number is required",
        "ports[2].number": "number is required",
    }
    assert Box.validated({"ports": [{"number": 1}], "main": {}}, partial=True) == {
        "ports": [{"number": 1}], "main": {},
    }  # fmt: skip


def test_an_object_that_was_just_written_reads_like_one_from_the_database():
    box = SimpleNamespace(
        id=7, label="web", comment="", active=True, tags=["a"], ports=[], box_kind="small",
        main=SimpleNamespace(number=1, protocol="tcp"), plan=SimpleNamespace(disk=5),
        created=datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    )  # fmt: skip
    body = orjson.loads(orjson.dumps(Box.shape().of_instance(box), option=orjson.OPT_OMIT_MICROSECONDS))
    assert body["kind"] == "small"
    assert body["size"] == {"disk": 5}
    assert body["hypervisor"] == "kvm"
    assert body["full_name"] == "7-web"
    assert body["created"] == "2024-01-02T03:04:05"


class Fragile(Resource):
    id = serializers.IntegerField(read_only=True)
    ratio = Computed(serializers.FloatField(), lambda part, whole: part / whole, "part", "whole")


@pytest.mark.parametrize(
    "render",
    [
        lambda: Fragile.shape().page([(1, 2, 1, 2), (2, 2, 0, 2)]),
        lambda: Fragile.shape().of_instance(SimpleNamespace(id=1, part=1, whole=0)),
    ],
    ids=["page", "one"],
)
def test_a_traceback_shows_the_field_that_failed_to_render(render):
    Fragile.shape()
    linecache.checkcache()  # as in the printing of a traceback
    with pytest.raises(ZeroDivisionError) as failed:
        render()
    *_, rendering, _ = traceback.extract_tb(failed.value.__traceback__)
    assert "Fragile" in rendering.filename
    assert rendering.line is not None
    assert rendering.line.startswith("'ratio': n0(c1, c2)")


def test_text_that_no_database_could_store_names_its_field():
    with pytest.raises(ValidationError) as refused:
        refuse_nul({"": [], "interfaces": [{"label": "a\x00"}]})
    assert list(flatten(refused.value.detail)) == [{"field": "interfaces[0].label", "reason": "label is not valid"}]


class Rack(Resource):
    ports = Port(many=True, required=False, allow_null=True)


def test_a_list_may_be_null_where_nothing_in_it_may():
    assert Rack.validated({"ports": None}) == {"ports": None}
    with pytest.raises(ValidationError) as refused:
        Rack.validated({"ports": [None]})
    (problem,) = flatten(refused.value.detail)
    assert problem["reason"] == "ports is not valid"


def box(**more: Any) -> SimpleNamespace:
    return SimpleNamespace(
        id=7, label="web", comment=None, active=True, tags=["a"], ports=[SimpleNamespace(number=1, protocol="tcp")],
        box_kind="small", main=SimpleNamespace(number=1, protocol="tcp"), plan=SimpleNamespace(disk=5),
        created=datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC), **more,
    )  # fmt: skip


def as_json(data: Any) -> Any:
    return orjson.loads(JSONRenderer().render(data))


SHOWN = {
    "id": 7, "label": "web", "comment": None, "active": True, "tags": ["a"],
    "ports": [{"number": 1, "protocol": "tcp"}], "main": {"number": 1, "protocol": "tcp"}, "kind": "small",
    "size": {"disk": 5}, "hypervisor": "kvm", "full_name": "7-web", "created": "2024-01-02T03:04:05",
}  # fmt: skip


def test_data_has_the_form_of_the_contract():
    assert as_json(Box(box()).data) == SHOWN
    assert as_json(Box([box(), box()], many=True).data) == [SHOWN, SHOWN]
    assert as_json(serializers.Serializer.to_representation(Box(), box())) == SHOWN
    assert list(Box(box()).data) == list(SHOWN)


def test_a_body_is_valid_or_has_errors():
    good = Box(data={"label": "web", "comment": None, "ports": [{"number": 1}], "colour": "red"})
    assert good.is_valid()
    assert good.validated_data == {"label": "web", "comment": None, "ports": [{"number": 1}]}
    assert good.errors == {}
    assert as_json(good.data) == {
        "label": "web", "comment": None, "ports": [{"number": 1}], "hypervisor": "kvm", "size": {},
    }  # fmt: skip
    bad = Box(data={"label": "x", "main": {"number": 0}})
    assert not bad.is_valid()
    assert bad.errors == {
        "label": ["Length must be 3-64 characters"],
        "main": {"number": ["main.number must be 1-65535"]},
    }
    with pytest.raises(ValidationError):
        Box(data={}).is_valid(raise_exception=True)


def test_a_body_that_is_no_object_has_an_error_of_no_field():
    box = Box(data=["label"])
    assert not box.is_valid()
    assert box.errors == {"non_field_errors": ["body is not valid"]}
    assert list(flatten(box.errors)) == [{"field": None, "reason": "body is not valid"}]


def test_partial_takes_any_part_of_an_object_and_of_each_item():
    changed = Box(box(), data={"comment": "new"}, partial=True)
    assert changed.is_valid()
    assert changed.validated_data == {"comment": "new"}
    assert Box(data=[{"comment": "new"}], many=True, partial=True).is_valid()
    assert Box(data=[{"label": "web"}, {}], many=True).is_valid() is False
    inner = Box(box(), data={"ports": [{"protocol": "udp"}]}, partial=True)
    assert not inner.is_valid()
    assert inner.errors == {"ports": {0: {"number": ["number is required"]}}}


class Loud(serializers.CharField):
    def to_representation(self, value: Any) -> str:
        return super().to_representation(value).upper() + self.context.get("end", "")


class Sign(Resource):
    label = Loud()
    parts = serializers.ListField(child=Loud(), required=False)


class Street(Resource):
    sign = Sign(source="*")


class Hooked(Resource):
    label = serializers.CharField()

    def to_representation(self, instance: Any) -> Any:
        return {**super().to_representation(instance), "more": self.context["more"]}


class Chosen(Resource):
    id = serializers.IntegerField()
    label = serializers.CharField()

    def __init__(self, *args: Any, only: str, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.only = only

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: field for name, field in super().get_fields().items() if name == self.only}


def test_a_hook_takes_effect():
    named = SimpleNamespace(id=1, label="web", parts=["a"])
    assert Hooked(named, context={"more": 1}).data == {"label": "web", "more": 1}
    assert Hooked([named], many=True, context={"more": 2}).data == [{"label": "web", "more": 2}]
    assert Sign(named, context={"end": "!"}).data == {"label": "WEB!", "parts": ["A!"]}
    assert Street(named).data == {"sign": {"label": "WEB", "parts": ["A"]}}
    assert Chosen(named, only="id").data == {"id": 1}


@pytest.mark.parametrize(
    ("resource", "hook"),
    [(Hooked, "Hooked.to_representation"), (Sign, "Loud.to_representation"), (Street, "Loud.to_representation"),
     (Chosen, "Chosen.get_fields")],
)  # fmt: skip
def test_a_resource_with_a_hook_is_not_compiled(resource, hook):
    assert not resource.is_compiled()
    with pytest.raises(ImproperlyConfigured) as refused:
        resource.shape()
    assert str(refused.value).startswith(f"{resource.__name__}: `{hook}` is not compiled; render `")


def test_a_field_that_is_only_read_in_has_no_hook_of_output():
    mine = type("Mine", (Resource,), {"label": Loud(write_only=True), "id": serializers.IntegerField()})
    assert mine.is_compiled()
    assert Box.is_compiled()


class Amount(Resource):
    price = serializers.DecimalField(max_digits=9, decimal_places=2)
    key = serializers.UUIDField()
    day = serializers.DateField()
    notes = NullWhenEmptyField(child=serializers.CharField())
    none = Port(source="nothing.at_all", allow_null=True)
    gone = Absent(serializers.CharField())


def test_numbers_days_and_empty_lists_are_the_same_both_ways():
    instance = SimpleNamespace(
        price=Decimal("1.50"), key=UUID(int=1), day=date(2024, 1, 2), notes=[], nothing=SimpleNamespace(at_all=None)
    )
    key = "00000000-0000-0000-0000-000000000001"
    shown = {"price": 1.5, "key": key, "day": "2024-01-02", "notes": None, "none": None}
    walked = serializers.Serializer.to_representation(Amount(), instance)
    row = [Decimal("1.50"), UUID(int=1), date(2024, 1, 2), [], None, None]
    for data in (walked, Amount.shape().one(row)):
        assert as_json(data) == shown


class Guarded(Resource):
    id = serializers.IntegerField()
    class_ = serializers.CharField()

    class Meta:
        read_only_fields = ("id", "class")


def test_read_only_fields_of_meta_are_ignored_in_a_body():
    assert Guarded.validated({"id": 1, "class": "x"}) == {}
