"""What Django and DRF people write works, or is refused with a sentence when the class is made."""

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework import decorators, mixins, serializers

from config.api import unsupported
from config.api.access import PUBLIC
from config.api.fields import Computed
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet

PAGE = Path(__file__).parents[3] / "docs" / "adding-an-endpoint.md"
OPEN = {"required_scopes": PUBLIC, "required_grant": "anyone"}
FIELDS = {
    serializers.SerializerMethodField: serializers.SerializerMethodField,
    serializers.RelatedField: lambda: serializers.SlugRelatedField("label", read_only=True),
    serializers.ManyRelatedField: lambda: serializers.PrimaryKeyRelatedField(many=True, read_only=True),
    serializers.FileField: serializers.ImageField,
}

NO_WORD = {"list", "retrieve", "create", "update", "partial_update", "destroy"}
"""Of DRF's mixins: actions, which a view writes itself."""


def view(**body) -> type:
    return type("Mine", (ReadOnlyModelViewSet,), {**OPEN, **body})


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


@pytest.mark.parametrize("kind", unsupported.FIELD_TYPES)
def test_a_field_is_refused_that_would_render_another_value_than_its_column(kind):
    field = FIELDS[kind]()
    assert isinstance(field, kind)
    with pytest.raises(ImproperlyConfigured, match=f"Mine.of_mine: `{type(field).__name__}` is not supported; "):
        resource(of_mine=field)


class Shouted(serializers.CharField):
    def to_representation(self, value):
        return value.upper()


class Trimmed(serializers.CharField):
    def to_internal_value(self, data):
        return super().to_internal_value(data).strip("-")


def test_fields_of_an_object_within_a_resource_are_refused_alike():
    class Part(serializers.Serializer):
        value = serializers.SerializerMethodField()

    for part in (Part(), Part(many=True)):
        with pytest.raises(ImproperlyConfigured, match=r"Part\.value: `SerializerMethodField` is not supported"):
            type("Whole", (Resource,), {"part": part})


def test_a_field_that_renders_itself_is_refused_unless_it_is_never_rendered():
    with pytest.raises(ImproperlyConfigured, match=r"Mine.label: `Shouted.to_representation` is not supported; "):
        resource(label=Shouted())
    with pytest.raises(ImproperlyConfigured, match=r"`Shouted.to_representation` is not supported"):
        resource(labels=serializers.ListField(child=Shouted()))
    resource(label=Shouted(write_only=True))


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
    table = PAGE.read_text().partition("| refused | instead |\n|---|---|\n")[2].partition("\n\n")[0]
    named = [word for row in table.splitlines() for word in re.findall(r"`@?([\w.]+)`", row.split(" | ")[0])]
    assert sorted(named) == sorted(
        {
            *unsupported.VIEW_NAMES,
            *unsupported.DECORATORS,
            *unsupported.RESOURCE_NAMES,
            *(f"Meta.{name}" for name in unsupported.META_NAMES),
            *(kind.__name__ for kind in unsupported.FIELD_TYPES),
        }
    )
