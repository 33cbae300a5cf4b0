"""Common code for Django and DRF works here, or is refused with a clear error when the class is created."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework import decorators, mixins, serializers

from config.api import unsupported
from config.api.access import PUBLIC
from config.api.fields import Computed
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet

OPEN = {"required_scopes": PUBLIC, "required_grant": "anyone"}

NO_WORD = {"list", "retrieve", "create", "update", "partial_update", "destroy"}
"""Actions that DRF's mixins define. Here a view defines them itself."""


def view(**body) -> type:
    return type("Mine", (ReadOnlyModelViewSet,), {**OPEN, **body})


def resource(**body) -> type:
    return type("Mine", (Resource,), body)


def public(*classes: type) -> set[str]:
    return {name for cls in classes for name in vars(cls) if not name.startswith("_")}


@pytest.mark.parametrize("name", unsupported.VIEW_NAMES)
def test_a_view_with_an_unused_attribute_is_refused(name):
    with pytest.raises(ImproperlyConfigured) as refused:
        view(**{name: ()})
    assert str(refused.value) == f"Mine: `{name}` is not supported; {unsupported.VIEW_NAMES[name]}."
    mixin = type("Mixin", (), {name: lambda self: None})
    with pytest.raises(ImproperlyConfigured, match=f"`{name}` is not supported"):
        type("Mine", (mixin, ReadOnlyModelViewSet), OPEN)
    with pytest.raises(ImproperlyConfigured, match=f"`{name}` is not supported"):
        view().as_view({"get": "list"}, **{name: ()})


@pytest.mark.parametrize("base", [mixins.CreateModelMixin, mixins.UpdateModelMixin, mixins.DestroyModelMixin])
def test_mixins_that_would_save_a_serializer_are_refused(base):
    with pytest.raises(ImproperlyConfigured, match="is not supported; write the view's action"):
        type("Mine", (ReadOnlyModelViewSet, base), OPEN)
    assert public(base) - set(unsupported.VIEW_NAMES) - NO_WORD == set()


@pytest.mark.parametrize(
    "decorator",
    [decorators.permission_classes, decorators.throttle_classes, decorators.authentication_classes,
     decorators.parser_classes, decorators.renderer_classes],
)  # fmt: skip
def test_decorators_of_functions_are_refused_on_an_action(decorator):
    def boot(self, request, id): ...

    with pytest.raises(ImproperlyConfigured, match=rf"Mine.boot: `@{decorator.__name__}` is not supported; "):
        view(boot=decorator([])(boot))


@pytest.mark.parametrize("name", unsupported.RESOURCE_NAMES)
def test_a_resource_with_an_unused_attribute_is_refused(name):
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


def test_validation_hooks_of_serializers_work():
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
