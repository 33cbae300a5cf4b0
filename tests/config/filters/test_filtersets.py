"""Filter sets as pages use them, and the declarations that are refused."""

from datetime import UTC, datetime

import django_filters
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Q

from compute.filters.catalogue import KernelFilterSet, TypeFilterSet
from compute.filters.configs import ConfigFilterSet
from compute.models import Kernel
from config.errors import Invalid
from config.filters import CharFilter, DecimalFilter, FilterSet, NumberFilter

KIND = {"version": "5", "architecture": "x86_64"}
BUILT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


@pytest.fixture
def kernels(db):
    for label, kvm, built in [("alpha", True, BUILT), ("beta", False, None), ("Beta", True, None)]:
        Kernel.objects.create(id=f"k/{label}", label=label, kvm=kvm, built=built, **KIND)


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        ({}, ["Beta", "alpha", "beta"]),
        ({"label": "", "built": "", "kvm": "unknown"}, ["Beta", "alpha", "beta"]),
        ({"label": "beta"}, ["beta"]),
        ({"kvm": "true"}, ["Beta", "alpha"]),
        ({"kvm": "false", "label": "beta"}, ["beta"]),
        ({"built": "2024-05-06T07:08:09"}, ["alpha"]),
    ],
)
def test_a_form_filters(kernels, data, labels):
    filterset = KernelFilterSet(data, Kernel.objects.all())
    assert filterset.is_valid(), filterset.errors
    assert sorted(each.label for each in filterset.qs) == labels


def test_a_form_names_wrong_inputs(db):
    filterset = TypeFilterSet({"memory": "1_0", "class": "standard"})
    assert not filterset.is_valid()
    assert set(filterset.errors) == {"memory"}
    assert filterset.form["memory"].label == "Memory"


def test_names_on_the_wire_are_those_of_the_form():
    class Nested(FilterSet):
        entity__id = NumberFilter("entity_id")
        class_ = CharFilter("type_class")

    assert {name: each.field_name for name, each in Nested.base_filters.items()} == {
        "entity.id": "entity_id",
        "class": "type_class",
    }
    assert [each.name for each in Nested.base_filters.values()] == ["entity.id", "class"]
    assert list(ConfigFilterSet.base_filters) == ["id", "label", "interfaces", "interfaces.label"]


def test_a_subclass_has_the_filters_of_its_base():
    class More(KernelFilterSet):
        position = NumberFilter()

    assert list(More.base_filters) == [*KernelFilterSet.base_filters, "position"]


def test_a_number_with_a_fraction_is_compared_and_searched():
    class Prices(FilterSet):
        price = DecimalFilter()

    price = Prices.base_filters["price"]
    assert price.equals(5) == Q(price=5.0)
    assert price.matches("gt", 1.5) == Q(price__gt=1.5)
    assert price.matches("contains", 1.5) == Q(price__contains="1.5")
    assert price.among([1, 2.5]) == Q(price__in=[1.0, 2.5])
    with pytest.raises(Invalid, match="price is not valid"):
        price.equals("5")


@pytest.mark.parametrize(
    "declared",
    [
        {"label": django_filters.CharFilter()},
        {"label": CharFilter(lookup_expr="icontains")},
        {"label__icontains": CharFilter()},
        {"label": CharFilter(exclude=True)},
        {"label": CharFilter(distinct=True)},
        {"label": CharFilter(method="by_label")},
        {"Meta": type("Meta", (), {"model": Kernel, "fields": ["label"]})},
        {"Meta": type("Meta", (), {"model": Kernel, "exclude": ["label"]})},
    ],
)
def test_an_argument_that_the_api_would_not_heed_is_refused(declared):
    with pytest.raises(ImproperlyConfigured):
        type("Wrong", (FilterSet,), declared)
