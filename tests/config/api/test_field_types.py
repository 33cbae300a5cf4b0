"""Fields that a resource cannot have are refused when its class or its view is made, or its statement compiled."""

import datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from rest_framework import serializers

from compute.models import Config, Instance
from config.api import access, field_types
from config.api.fields import Annotated, Computed, Constant
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ListViewSet

REFUSED = {
    serializers.SerializerMethodField: serializers.SerializerMethodField,
    serializers.RelatedField: lambda: serializers.SlugRelatedField("label", read_only=True),
    serializers.ManyRelatedField: lambda: serializers.PrimaryKeyRelatedField(many=True, read_only=True),
    serializers.FileField: serializers.ImageField,
    serializers.ModelSerializer: lambda: type("Part", (serializers.ModelSerializer,), {})(),
    serializers.ReadOnlyField: serializers.ReadOnlyField,
    serializers.HiddenField: lambda: serializers.HiddenField(default=1),
    serializers.DurationField: serializers.DurationField,
    serializers.TimeField: serializers.TimeField,
    serializers.MultipleChoiceField: lambda: serializers.MultipleChoiceField(choices=["a"]),
}
FORMS = {
    "format": lambda: serializers.DateTimeField(format="%Y"),
    "default_timezone": lambda: serializers.DateTimeField(default_timezone=datetime.UTC),
    "coerce_to_string": lambda: serializers.DecimalField(9, 2, coerce_to_string=True),
    "localize": lambda: serializers.DecimalField(9, 2, localize=True),
    "normalize_output": lambda: serializers.DecimalField(9, 2, normalize_output=True),
    "rounding": lambda: serializers.DecimalField(9, 2, rounding="ROUND_UP"),
    "binary": lambda: serializers.JSONField(binary=True),
    "encoder": lambda: serializers.JSONField(encoder=object),
    "decoder": lambda: serializers.JSONField(decoder=object),
}


class Shouted(serializers.CharField):
    def to_representation(self, value):
        return value.upper()


class Yearly(serializers.DateTimeField):
    def __init__(self, **kwargs):
        super().__init__(format="%Y", **kwargs)


class Formless(serializers.Field):
    pass


def resource(**body) -> type[Resource]:
    return type("Mine", (Resource,), body)


def refusal(**body) -> str:
    with pytest.raises(ImproperlyConfigured) as refused:
        resource(**body)
    return str(refused.value)


@pytest.mark.parametrize("kind", field_types.TYPES)
def test_a_field_type_that_is_not_known_is_refused(kind):
    field = REFUSED[kind]()
    assert isinstance(field, kind)
    assert refusal(one=field) == f"Mine.one: `{type(field).__name__}` is not supported; {field_types.TYPES[kind]}."


def test_every_other_field_type_of_drf_is_refused():
    field = serializers.FilePathField("/tmp")
    assert refusal(one=field) == f"Mine.one: `FilePathField` is not supported; {field_types.VALUE}."


@pytest.mark.parametrize("name", field_types.FORMS)
def test_an_argument_that_asks_for_another_form_is_refused(name):
    expected = f"Mine.one: `{name}` is not supported; {field_types.FORMS[name]}."
    assert refusal(one=FORMS[name]()) == expected
    assert refusal(one=serializers.ListField(child=FORMS[name]())) == expected
    assert refusal(one=Computed(FORMS[name](), str, "id")) == expected


@pytest.mark.parametrize(
    "field",
    [
        serializers.UUIDField(format="hex"),
        serializers.DateField(format="%Y"),
        serializers.DateTimeField("%Y"),
        Yearly(),
    ],
)
def test_a_form_is_refused_however_it_is_declared(field):
    assert refusal(one=field).startswith("Mine.one: `format` is not supported; ")


def test_an_unknown_argument_is_refused():
    field = serializers.ChoiceField(["a"], html_cutoff=3)
    assert refusal(one=field).startswith("Mine.one: `html_cutoff` is not supported; ")


def test_a_list_cannot_hold_values_that_need_another_form():
    for child in (serializers.DateTimeField(), serializers.DecimalField(9, 2)):
        assert "is not supported; write `Computed`" in refusal(one=serializers.ListField(child=child))
    resource(one=serializers.ListField(child=serializers.DateTimeField(), write_only=True))


def test_fields_of_an_object_within_a_resource_are_refused_alike():
    class Part(serializers.Serializer):
        value = serializers.SerializerMethodField()

    for part in (Part(), Part(many=True)):
        assert refusal(part=part).startswith("Part.value: `SerializerMethodField` is not supported")


def test_a_field_without_a_representation_is_refused_unless_it_only_says_a_type():
    assert refusal(one=Formless()).startswith("Mine.one: `Formless` is not supported; give the class a `to_repr")
    assert refusal(one=Annotated(Formless(), F("id"))).startswith("Mine.one: `Formless` is not supported; wrap")
    resource(one=Formless(write_only=True), two=Computed(Formless(), str, "id"), three=Constant(Formless(), 1))


def test_a_field_that_only_says_a_type_cannot_have_a_representation():
    expected = "Mine.one: `Shouted.to_representation` is not supported; `Computed` shows its value as it is."
    assert refusal(one=Computed(Shouted(), str, "id")) == expected


def test_a_name_of_read_only_fields_is_a_field():
    meta = type("Meta", (), {"read_only_fields": ("labl",)})
    assert (
        refusal(label=serializers.CharField(), Meta=meta) == "Mine.Meta.read_only_fields: there is no field `labl`."
    )


class Part(Resource):
    label = serializers.CharField()


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (
            Part(many=True, read_only=True),
            "`disks` of Instance has many rows; write `Annotated` with an ArraySubquery.",
        ),
        (serializers.IntegerField(source="disks.size"), "`disks` of Instance has many rows; write `Annotated`"),
        (
            serializers.CharField(source="get_status_display"),
            "`get_status_display` of Instance is no column; write",
        ),
        (serializers.CharField(source="pk.more"), "`pk` of Instance is a column, and `pk__more` is none"),
        (serializers.CharField(source="region"), "`region` of Instance is a relation; name its column in `source`"),
        (serializers.CharField(source="region.labl"), "`labl` of Region is no column"),
        (Computed(serializers.CharField(), str, "is_busy"), "`is_busy` of Instance is no column"),
    ],
    ids=str,
)
def test_a_source_that_is_no_column_is_refused_with_the_view_and_when_a_statement_is_compiled(field, reason):
    mine = resource(disks=field)
    for select in (mine.shape().select, mine.select):
        with pytest.raises(ImproperlyConfigured) as refused:
            select(Instance.objects.all())
        assert str(refused.value).startswith(f"Mine.disks: {reason}")
    with pytest.raises(ImproperlyConfigured) as refused:
        view_of(mine)
    assert str(refused.value).startswith(f"Mine.disks: {reason}")


def view_of(serializer: type[Resource], **attributes) -> type[ListViewSet]:
    declared = {"required_scopes": (), "required_grant": access.READ_ONLY, "queryset": Instance.objects.all()}
    return type("View", (ListViewSet,), {**declared, "serializer_class": serializer, **attributes})


def test_a_view_whose_reads_do_not_show_its_serializer_needs_no_columns_for_it():
    mine = resource(rules=serializers.CharField())
    for hook in ("get_serializer_class", "with_annotations", "filter_queryset"):
        view_of(mine, **{hook: lambda self, *arguments: None})
    view_of(None)
    of_another = operation((), access.READ_ONLY, response=Part)(lambda self, request: None)
    view_of(mine, required_scopes=None, required_grant=None, list=of_another)


def test_columns_annotations_and_keys_of_json_are_sources():
    mine = resource(
        id=serializers.IntegerField(source="pk"),
        region=serializers.CharField(source="region_id"),
        disk=serializers.IntegerField(source="type.disk"),
        number=serializers.IntegerField(),
    )
    rows = mine.shape().select(Instance.objects.annotate(number=F("id")))
    assert "number" in str(rows.query)
    distro = resource(distro=serializers.BooleanField(source="helpers.distro"))
    assert distro.shape().select(Config.objects.all()).model is Config
