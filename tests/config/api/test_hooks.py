"""DRF's attributes and hooks take effect in a view. If a hook changes nothing, the answer stays the same."""

from collections.abc import Callable
from typing import Any

import django_filters
import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework.decorators import action
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import FormParser
from rest_framework.permissions import BasePermission
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.throttling import BaseThrottle

from compute.api.disks import DiskViewSet
from compute.api.instances import InstanceViewSet
from compute.models import Instance
from config.api.access import ANY_TOKEN, ANYONE
from config.api.compiled import HOOKS, CompiledViewSet
from config.api.generics import GenericViewSet
from config.api.operations import operation
from config.api.permissions import HasGrant, HasScope
from config.api.serializers import Resource
from config.api.throttling import RateLimits
from config.api.views import ReadOnlyModelViewSet
from regions.models import Region
from regions.serializers import RegionResource
from tests.config.api.more_rows import TAG, add_more
from tests.config.api.routes import Route, routes
from tests.factories import DiskFactory, token_of

READS = [route for route in routes() if route.action in HOOKS and issubclass(route.view, CompiledViewSet)]
"""The routes whose answers have a fast way."""

Ask = Callable[..., Any]


class Nobody(BasePermission):
    def has_permission(self, request, view):
        return False


class NotThis(BasePermission):
    def has_object_permission(self, request, view, obj):
        return obj.label != "guarded"


class Never(BaseThrottle):
    def allow_request(self, request, view):
        return False


def passed_on(name: str) -> Any:
    """Return a copy of a view's attribute: a hook that is overridden without a change."""
    theirs = getattr(GenericViewSet, name)
    if isinstance(theirs, property):
        return property(lambda self: theirs.fget(self))
    if callable(theirs) and not isinstance(theirs, type):
        return lambda self, *args, **kwargs: theirs(self, *args, **kwargs)
    return type("Mine", (theirs,), {}) if isinstance(theirs, type) else [*theirs]


@pytest.fixture
def ask(filled) -> Ask:
    """Return a function that calls an action of a view, by default one of instances with its own body, as an
    owner."""
    _, values, user = filled
    token = token_of(user)

    def ask(
        name: str, query: str = "", view: type = InstanceViewSet, given: dict | None = None, **body: Any
    ) -> Any:
        mine = type("Mine", (view,), body)
        path = {} if name == "list" else {"id": values["compute_id"]}
        request = APIRequestFactory().get(f"/{query}", headers={"Authorization": f"Bearer {token}"})
        return mine.as_view({"get": name}, **(given or {}))(request, **path)

    return ask


@pytest.mark.parametrize(("name", "hook"), [(name, hook) for name in HOOKS for hook in sorted(HOOKS[name])])
def test_a_view_that_overrides_a_hook_takes_the_ordinary_way_to_the_same_answer(ask: Ask, name, hook):
    mine = type("Mine", (InstanceViewSet,), {hook: passed_on(hook)})
    assert InstanceViewSet.takes_fast_way(name)
    assert not mine.takes_fast_way(name)
    fast, ordinary = ask(name), ask(name, view=mine)
    assert fast.status_code == ordinary.status_code == 200
    assert fast.content == ordinary.content
    assert dict(fast.items()) == dict(ordinary.items()) | {
        header: value for header, value in fast.items() if header.startswith("X-RateLimit")
    }


@pytest.mark.parametrize("route", READS, ids=str)
def test_both_ways_give_the_same_bytes(route: Route, filled, client_of, monkeypatch):
    world, values, user = filled
    add_more(world, values, user)
    client = client_of(user)
    path = route.fill({**values, "id": identity_of(route, client, values)})
    answers = []
    for fast in (True, False):
        monkeypatch.setattr(route.view, "takes_fast_way", staticmethod(lambda name, fast=fast: fast))
        monkeypatch.setattr(route.view, "_reads", {})
        # otherwise `data` of an instance would come from the compiled function too
        monkeypatch.setattr(Resource, "is_compiled", staticmethod(lambda fast=fast: fast))
        answers.append(client.get(path))
    assert answers[0].status_code == 200, answers[0].content
    assert answers[0].content == answers[1].content
    assert answers[0].headers["Content-Length"] == answers[1].headers["Content-Length"]


def test_a_permission_that_a_view_adds_is_asked(ask: Ask):
    more = (HasScope, HasGrant, Nobody)
    assert ask("list", permission_classes=more).status_code == 403
    assert ask("list", given={"permission_classes": more}).status_code == 403


def test_the_message_of_a_permission_is_the_reason(ask: Ask):
    answer = ask("list", permission_classes=(HasScope, HasGrant, type("Closed", (Nobody,), {"message": "Closed."})))
    assert orjson.loads(answer.content) == {"errors": [{"field": None, "reason": "Closed."}]}
    answer = ask("list", permission_classes=(HasScope, HasGrant, Nobody))
    assert orjson.loads(answer.content) == {"errors": [{"field": None, "reason": "Unauthorized"}]}


def test_a_limit_that_does_not_exist_is_refused():
    with pytest.raises(ImproperlyConfigured, match="RATE_LIMITS has no limit never"):
        type("Mine", (InstanceViewSet,), {"throttle_scope": "never"})


def test_a_filter_set_that_is_not_strict_is_refused():
    with pytest.raises(ImproperlyConfigured, match=r"no FilterSet of config\.filters"):
        type("Mine", (InstanceViewSet,), {"filterset_class": django_filters.FilterSet})


def test_a_nested_object_and_its_parent_are_both_asked_for(filled, client_of):
    _, values, user = filled
    asked = []

    class Noted(BasePermission):
        def has_object_permission(self, request, view, obj):
            asked.append(type(obj).__name__)
            return True

    view = type("Mine", (DiskViewSet,), {"permission_classes": (HasScope, HasGrant, Noted)})
    disk = DiskFactory(instance_id=values["compute_id"])
    made = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {token_of(user)}"})
    answer = view.as_view({"get": "retrieve"})(made, compute_id=values["compute_id"], id=disk.pk)
    assert answer.status_code == 200
    assert asked == ["Instance", "Disk"]


def test_a_permission_of_objects_is_asked_for_a_read(ask: Ask):
    assert ask("retrieve").status_code == 200
    assert ask("retrieve", permission_classes=(HasScope, HasGrant, NotThis)).status_code == 403

    given = {"permission_classes": (HasScope, HasGrant, NotThis)}
    assert ask("retrieve", given=given).status_code == 403


def test_keywords_of_as_view_take_effect(ask: Ask):
    def labels(answer) -> list[str]:
        return [each["label"] for each in orjson.loads(answer.content)["data"]]

    assert labels(ask("list")) == ["guarded"]
    assert labels(ask("list", given={"queryset": Instance.objects.exclude(label="guarded")})) == []
    assert labels(ask("list")) == ["guarded"], "the class itself is as it was"
    with pytest.raises(TypeError, match="invalid keyword: colour"):
        ask("list", given={"colour": "red"})


@pytest.mark.parametrize(
    "condition",
    [
        lambda view: view.kwargs["id"] == 7,
        lambda view: view.viewer.account_id in (1, 2),
        lambda view: view.viewer.may("add_computes"),
        lambda view: view.request.query_params.get("all"),
    ],
)
def test_a_queryset_may_branch_on_values_of_the_request(ask: Ask, condition):
    def get_queryset(self):
        rows = Instance.objects.visible_to(self.viewer)
        return rows if condition(self) else rows.filter(label="guarded")

    assert ask("retrieve", get_queryset=get_queryset).content == ask("retrieve").content


def test_a_throttle_class_of_a_view_counts(ask: Ask):
    assert ask("list", throttle_classes=(RateLimits, Never)).status_code == 429
    with pytest.raises(ImproperlyConfigured, match="throttle_classes lacks RateLimits"):
        ask("list", throttle_classes=(Never,))


def test_a_pagination_class_of_a_view_makes_its_pages(ask: Ask):
    class Few(LimitOffsetPagination):
        default_limit = 10

    for answer in (ask("list", pagination_class=Few), ask("list", given={"pagination_class": Few})):
        assert set(orjson.loads(answer.content)) == {"count", "next", "previous", "results"}
    assert isinstance(orjson.loads(ask("list", pagination_class=None).content), list)


def test_a_queryset_may_depend_on_the_whole_request(ask: Ask):
    def get_queryset(self):
        return Instance.objects.visible_to(self.actor).filter(label=self.request.META["QUERY_STRING"])

    def found(query: str) -> list[str]:
        answer = orjson.loads(ask("list", query, get_queryset=get_queryset).content)
        return [each["label"] for each in answer["data"]]

    assert found("?guarded") == ["guarded"]
    assert found("?other") == []


def test_a_queryset_of_rows_without_an_owner_has_to_be_written_out(ask: Ask):
    answer = ask("list", queryset=Region.objects.all(), serializer_class=RegionResource)
    assert answer.status_code == 500


def test_keywords_of_an_action_take_effect(filled):
    class Forms(ReadOnlyModelViewSet):
        queryset = Instance.objects.all()
        serializer_class = InstanceViewSet.serializer_class

        @action(detail=False, methods=["post"], parser_classes=[FormParser], throttle_scope="stats")
        @operation(ANY_TOKEN, ANYONE)
        def send(self, request):
            return Response({"sent": request.data.get("word"), "limit": self.limit})

    token = token_of(filled[2])
    view = Forms.as_view({"post": "send"}, **Forms.send.kwargs)

    def send(content: str, kind: str):
        made = APIRequestFactory().generic("POST", "/", content, kind, headers={"Authorization": f"Bearer {token}"})
        return view(made)

    answer = send("word=hello", "application/x-www-form-urlencoded")
    assert orjson.loads(answer.content) == {"sent": "hello", "limit": "stats"}
    assert send("{}", "application/json").status_code == UnsupportedMediaType.status_code


def test_data_that_cannot_be_written_is_a_failure_in_the_error_body(filled):
    class Broken(GenericViewSet):
        serializer_class = InstanceViewSet.serializer_class

        @operation(ANY_TOKEN, ANYONE)
        def retrieve(self, request):
            return Response({"half": "\ud800"})

    request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {token_of(filled[2])}"})
    answer = Broken.as_view({"get": "retrieve"})(request)
    assert answer.status_code == 500
    assert orjson.loads(answer.content)["errors"][0]["field"] is None
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert answer.headers["X-OAuth-Scopes"] == "*"


def identity_of(route: Route, client, values: dict) -> Any:
    """Return the value of the path's own parameter, from an object in the parent list."""
    if route.action == "list":
        return TAG
    if "id" not in route.parameters:
        return None
    above = route.path.rpartition("/<")[0]
    list_route = next(each for each in routes() if each.method == "get" and each.path == above)
    item = client.get(list_route.fill(values)).json()["data"][0]
    return next(item[key] for key in ("id", "username", "address", "range") if key in item)
