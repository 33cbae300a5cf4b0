"""What Django and DRF people write works, or is refused with a sentence when the class is made."""

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.views import View
from rest_framework import decorators, generics, mixins, serializers, viewsets
from rest_framework.permissions import IsAdminUser
from rest_framework.views import APIView

from config.api import field_types, unsupported
from config.api.access import PUBLIC
from config.api.fields import Computed
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

PAGE = Path(__file__).parents[3] / "docs" / "adding-an-endpoint.md"
OPEN = {"scopes": {"list": PUBLIC, "boot": PUBLIC}, "grants": {"list": "anyone", "boot": "anyone"}}

WORKS = {
    "as_view", "schema", "settings", "allowed_methods", "default_response_headers", "dispatch", "initial",
    "initialize_request", "finalize_response", "handle_exception", "options", "get_view_name",
    "get_view_description",
}  # fmt: skip
"""Of DRF's views: what the kit's have as well, and use."""
ACTIONS = {"list", "retrieve", "create", "update", "partial_update", "destroy"}


def view(**body) -> type:
    return type("Mine", (ResourceViewSet,), {**OPEN, **body})


def resource(**body) -> type:
    return type("Mine", (Resource,), body)


def public(*classes: type) -> set[str]:
    return {name for cls in classes for name in vars(cls) if not name.startswith("_")}


@pytest.mark.parametrize("name", unsupported.VIEW_NAMES)
def test_a_view_is_refused_that_has_what_it_would_not_use(name):
    with pytest.raises(ImproperlyConfigured) as refused:
        view(**{name: ()})
    assert str(refused.value) == f"Mine: `{name}` is not supported; {unsupported.VIEW_NAMES[name]}."
    mixin = type("Mixin", (), {name: lambda self: None})
    with pytest.raises(ImproperlyConfigured, match=f"`{name}` is not supported"):
        type("Mine", (mixin, ResourceViewSet), OPEN)
    with pytest.raises(ImproperlyConfigured, match=f"`{name}` is not supported"):
        view().as_view({"get": "list"}, **{name: ()})


def test_all_that_drfs_generic_views_have_works_or_is_refused():
    mixed = (
        each for each in vars(mixins).values() if isinstance(each, type) and each.__module__ == mixins.__name__
    )
    theirs = public(APIView, generics.GenericAPIView, viewsets.GenericViewSet, *mixed) - public(View)
    assert theirs - set(unsupported.VIEW_NAMES) - WORKS - ACTIONS == set()


@pytest.mark.parametrize(
    "base", [generics.GenericAPIView, viewsets.ModelViewSet, mixins.CreateModelMixin, mixins.UpdateModelMixin]
)
def test_drfs_generic_views_cannot_be_mixed_in(base):
    with pytest.raises(ImproperlyConfigured, match="is not supported"):
        type("Mine", (ResourceViewSet, base), OPEN)


@pytest.mark.parametrize(
    "decorator",
    [decorators.permission_classes, decorators.throttle_classes, decorators.authentication_classes,
     decorators.parser_classes, decorators.renderer_classes],
)  # fmt: skip
def test_drfs_decorators_are_refused_on_an_action(decorator):
    def boot(self, request, id): ...

    with pytest.raises(ImproperlyConfigured, match=rf"Mine.boot: `@{decorator.__name__}` is not supported; "):
        view(boot=decorator([])(boot))


def test_an_action_that_routes_itself_is_refused():
    @decorators.action(detail=True, permission_classes=[IsAdminUser])
    def boot(self, request, id): ...

    with pytest.raises(ImproperlyConfigured, match=r"Mine.boot: `@action` is not supported; write a line in"):
        view(boot=boot)


@pytest.mark.parametrize("name", unsupported.RESOURCE_NAMES)
def test_a_resource_is_refused_that_has_what_it_would_not_use(name):
    with pytest.raises(ImproperlyConfigured) as refused:
        resource(**{name: lambda self, instance: {}})
    assert str(refused.value) == f"Mine: `{name}` is not supported; {unsupported.RESOURCE_NAMES[name]}."
    with pytest.raises(ImproperlyConfigured, match=f"`{name}` is not supported"):
        type("Mine", (type("Mixin", (), {name: lambda self: None}), Resource), {})


@pytest.mark.parametrize("name", unsupported.META_NAMES)
def test_a_resource_is_no_model_serializer(name):
    with pytest.raises(ImproperlyConfigured, match=f"Mine.Meta: `{name}` is not supported; "):
        resource(Meta=type("Meta", (), {name: ()}))


class Trimmed(serializers.CharField):
    def to_internal_value(self, data):
        return super().to_internal_value(data).strip("-")


def test_what_serializers_are_told_about_input_works():
    def validate_label(self, value):
        if value == "no":
            raise serializers.ValidationError("is not liked")
        return value

    mine = resource(
        label=Trimmed(), validate_label=validate_label, validate=lambda self, attrs: {**attrs, "more": 1}
    )
    assert mine.validated({"label": "-yes-"}) == {"label": "yes", "more": 1}
    with pytest.raises(serializers.ValidationError, match="is not liked"):
        mine.validated({"label": "no"})


def test_fields_of_the_kit_may_be_called_as_methods_of_serializers_are():
    mine = resource(update=serializers.BooleanField(), save=Computed(serializers.CharField(), str, "id"))
    assert mine.names() == {"update", "save"}


def test_the_page_on_endpoints_has_a_table_of_what_is_refused():
    table = PAGE.read_text().partition("\n|---|---|\n")[2].partition("\n\n")[0]
    named = [word for row in table.splitlines() for word in re.findall(r"`@?([\w.]+)`", row.split(" | ")[0])]
    assert sorted(named) == sorted(
        {
            *unsupported.VIEW_NAMES,
            *unsupported.DECORATORS,
            *unsupported.RESOURCE_NAMES,
            *(f"Meta.{name}" for name in unsupported.META_NAMES),
            *(kind.__name__ for kind in field_types.TYPES),
            *field_types.FORMS,
        }
    )
