"""A compiled statement returns the rows, the order and the columns that its view needs, for each action."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models.functions import Upper
from rest_framework.decorators import action
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, IntegerField, Serializer
from rest_framework.test import APIRequestFactory

from accounts.models import Grant, Level
from compute.models import Instance
from config.api.access import ANY_TOKEN, ANYONE, READ_ONLY, READ_WRITE
from config.api.fields import Annotated
from config.api.operations import operation
from config.api.permissions import HasGrant, HasScope
from config.api.serializers import Resource
from config.api.views import GenericViewSet, ReadOnlyModelViewSet
from config.db.statements import DependsOnRequest, Param
from tests.factories import GlobalGrantsFactory, GrantFactory, InstanceFactory, token_of

Ask = Callable[..., Any]


class Brief(Resource):
    label = CharField()
    id = IntegerField()


class Reordered(Resource):
    id = IntegerField()
    label = CharField()


class Loud(Resource):
    label = Annotated(CharField(), Upper("label"))


class Shouted(Resource):
    shouted = CharField()


class Plain(Serializer):
    label = CharField()


class Split(GenericViewSet):
    """A view whose `retrieve` answers something else than columns of the object."""

    queryset = Instance.objects.all()
    serializer_class = Shouted

    @operation(ANY_TOKEN, READ_ONLY)
    def retrieve(self, request: Request, id: int) -> Response:
        return Response({"shouted": self.get_object().label.upper()})


class NotThis(BasePermission):
    def has_object_permission(self, request, view, obj):
        return obj.label != "guarded"


class Labels(ReadOnlyModelViewSet):
    queryset = Instance.objects.all()
    serializer_class = Brief
    required_scopes = ANY_TOKEN
    required_grant = READ_ONLY

    @action(detail=False)
    @operation(ANY_TOKEN, ANYONE)
    def again(self, request: Request, **path: Any) -> Response:
        return self.list(request, **path)

    @action(detail=True)
    @operation(ANY_TOKEN, ANYONE, response=Reordered)
    def turned(self, request: Request, id: int) -> Response:
        return self.retrieve(request, id=id)

    @action(detail=True)
    @operation(ANY_TOKEN, ANYONE, response=Loud)
    def loud(self, request: Request, id: int) -> Response:
        return self.retrieve(request, id=id)


@pytest.fixture
def ask(filled) -> Ask:
    """Return a function that calls an action of `Labels`, or of a subclass with another body, and returns the
    answer's body."""
    world, values, user = filled
    token = token_of(user)
    InstanceFactory(account=world.account, label="other")

    def ask(
        name: str,
        query: str = "",
        view: type = Labels,
        given: dict | None = None,
        path: dict | None = None,
        **body: Any,
    ) -> Any:
        view = type("Mine", (view,), body) if body else view
        path = path or ({} if name in ("list", "again") else {"id": values["compute_id"]})
        request = APIRequestFactory().get(f"/{query}", headers={"Authorization": f"Bearer {token}"})
        return orjson.loads(view.as_view({"get": name}, **(given or {}))(request, **path).content)

    return ask


def labels(body: dict) -> list[str]:
    return [each["label"] for each in body["data"]]


def test_a_retrieve_of_its_own_may_answer_other_fields_than_columns(filled):
    _, values, user = filled
    request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {token_of(user)}"})
    answer = Split.as_view({"get": "retrieve"})(request, id=values["compute_id"])
    assert orjson.loads(answer.content) == {"shouted": "GUARDED"}


def test_a_read_that_needs_read_write_is_refused_to_those_who_may_only_read(filled):
    world, values, _ = filled
    user = GlobalGrantsFactory(user__account=world.account).user
    grant = GrantFactory(user=user, entity_id=values["compute_id"], permissions=Level.READ_ONLY)
    token = token_of(user)

    class Guarded(Labels):
        required_grant = READ_WRITE

    def status() -> int:
        request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {token}"})
        return Guarded.as_view({"get": "retrieve"})(request, id=values["compute_id"]).status_code

    assert status() == 403
    Grant.objects.filter(pk=grant.pk).update(permissions=Level.READ_WRITE)
    assert status() == 200


@pytest.mark.parametrize("classes", [(NotThis,), (HasScope, NotThis), (HasGrant,), ()])
def test_a_view_whose_permissions_check_no_scope_or_grant_is_not_routed(classes: tuple):
    with pytest.raises(ImproperlyConfigured, match="permission_classes"):
        type("Open", (Labels,), {"permission_classes": classes})
    with pytest.raises(ImproperlyConfigured, match="permission_classes"):
        Labels.as_view({"get": "list"}, permission_classes=classes)


@pytest.mark.parametrize("query", ["", "?page=1", "?nothing=0"])
def test_a_queryset_may_depend_on_the_action_that_lists(ask: Ask, query: str):
    class Mine(Labels):
        def get_queryset(self):
            rows = Instance.objects.visible_to(self.viewer)
            return rows.filter(label="other") if self.action == "again" else rows

    for _ in range(2):
        assert labels(ask("list", query, view=Mine)) == ["guarded", "other"]
        assert labels(ask("again", query, view=Mine)) == ["other"]


def same_serializer(self: Any, *args: Any, **kwargs: Any) -> Serializer:
    """Override a hook without a change, so that the view answers in DRF's ordinary way."""
    return GenericViewSet.get_serializer(self, *args, **kwargs)


@pytest.mark.parametrize("own", [{}, {"get_serializer": same_serializer}], ids=["fast", "ordinary"])
def test_an_action_shows_an_object_by_its_own_serializer(ask: Ask, own: dict):
    assert list(ask("turned", **own)) == ["id", "label"]
    assert ask("turned", **own)["label"] == "guarded"
    assert ask("loud", **own) == {"label": "GUARDED"}


def test_keywords_of_a_route_are_those_of_its_statements(ask: Ask):
    others = Instance.objects.filter(label="other")
    assert labels(ask("list")) == ["guarded", "other"]
    assert labels(ask("list", given={"queryset": others})) == ["other"]
    assert labels(ask("list", given={"ordering": ("-label",)})) == ["other", "guarded"]
    assert list(ask("list", given={"serializer_class": Reordered})["data"][0]) == ["id", "label"]
    assert ask("retrieve", path={"id": "other"}, given={"lookup_field": "label"})["label"] == "other"
    assert "errors" in ask("retrieve", given={"permission_classes": (HasScope, HasGrant, NotThis)})


def test_a_serializer_may_depend_on_the_request(ask: Ask):
    def get_serializer_class(self):
        return Plain if "plain" in self.request.query_params else Reordered

    assert list(ask("list", get_serializer_class=get_serializer_class)["data"][0]) == ["id", "label"]
    assert list(ask("list", "?plain", get_serializer_class=get_serializer_class)["data"][0]) == ["label"]
    assert list(ask("retrieve", "?plain", get_serializer_class=get_serializer_class)) == ["label"]


def test_a_queryset_that_looks_at_a_value_is_asked_for_each_request(ask: Ask):
    def by_path(self):
        rows = Instance.objects.visible_to(self.viewer)
        return rows.none() if self.kwargs["kind"] == "none" else rows

    def by_name(self):
        return Instance.objects.visible_to(self.viewer).exclude(label=f"{self.viewer.username}")

    assert labels(ask("list", path={"kind": "all"}, get_queryset=by_path)) == ["guarded", "other"]
    assert labels(ask("list", path={"kind": "none"}, get_queryset=by_path)) == []
    Instance.objects.filter(label="other").update(label="worldowner")
    assert labels(ask("list", get_queryset=by_name)) == ["guarded"]


@pytest.mark.parametrize("own", [{}, {"get_serializer": same_serializer}], ids=["fast", "ordinary"])
def test_a_queryset_with_an_order_of_its_own_is_refused(ask: Ask, own: dict):
    by_label = Instance.objects.order_by("-label")
    with pytest.raises(ImproperlyConfigured, match="name the columns in `ordering`"):
        type("Mine", (Labels,), {"queryset": by_label})
    answer = ask("list", get_queryset=lambda self: by_label.visible_to(self.viewer), **own)
    assert "errors" in answer
    assert labels(ask("list", ordering=("-label",), **own)) == ["other", "guarded"]


INSPECTIONS: list[Callable[[Any], Any]] = [
    str, int, "{}".format, lambda it: it == 7, lambda it: it < 7, lambda it: it in ("a",),
]  # fmt: skip


@pytest.mark.parametrize("inspect", INSPECTIONS)
def test_an_open_parameter_has_no_value_to_look_at(inspect: Callable[[Any], Any]):
    with pytest.raises(DependsOnRequest):
        inspect(Param("path.id"))
