"""Sizes in GB on pages, for columns in MB."""

from decimal import Decimal

import pytest
from django import forms

from compute.drivers.qemu.agent.networks import packet_tables
from compute.models import Host, Image, InstanceType
from config.admin.sizes import GigabytesField
from config.display.quantities import size
from tests.config.admin.pages import list_address, page_address


class Sized(forms.Form):
    memory = GigabytesField()


@pytest.mark.parametrize(("typed", "kept"), [("2", 2048), ("0.5", 512), ("0.25", 256), ("1.5", 1536), ("0", 0)])
def test_sizes_typed_in_gb_are_stored_in_mb(typed, kept):
    form = Sized({"memory": typed})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["memory"] == kept


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("0.0001", "whole number of MB"),
        ("-1", "greater than or equal to 0"),
        ("2097152", "less than or equal to 2097151"),
        ("much", "Enter a number"),
        ("NaN", "Enter a number"),
        ("9" * 30, "no more than"),
        ("", "required"),
    ],
)
def test_an_invalid_size_is_refused(typed, message):
    assert message in str(Sized({"memory": typed}).errors["memory"])


@pytest.mark.parametrize(("kept", "shown"), [(2048, "2"), (512, "0.5"), (102400, "100"), (1, "0.0009765625")])
def test_the_field_shows_gb_and_is_unchanged_by_them(kept, shown):
    form = Sized({"memory": shown}, initial={"memory": kept})
    assert f'value="{shown}"' in str(Sized(initial={"memory": kept})["memory"])
    assert not form.has_changed()
    assert form.is_valid()
    assert form.cleaned_data["memory"] == kept
    assert Sized({"memory": str(Decimal(shown) + 1)}, initial={"memory": kept}).has_changed()


@pytest.mark.django_db
def test_a_refused_form_shows_typed_values(admin, world):
    host = Host.objects.first()
    page = admin.post(page_address(host), {"label": "", "memory": "3", "disk": "4", "vcpus": "2"}).content.decode()
    assert 'name="memory" value="3"' in page


@pytest.mark.django_db
@pytest.mark.parametrize("model", [Host, InstanceType, Image])
def test_read_only_pages_show_sizes_in_gb(model, onlooker, world):
    obj = model.objects.first()
    page = onlooker.get(page_address(obj)).content.decode()
    megabytes = obj.size if model is Image else obj.memory
    assert size(megabytes) in page
    assert 'name="memory"' not in page
    assert onlooker.get(list_address(model)).status_code == 200


NEW_TYPE = {
    "id": "g6-new", "label": "New", "type_class": "standard", "memory": "0.5", "disk": "25", "vcpus": "1",
    "gpus": "0", "transfer": "1000", "network_out": "1000", "price_hourly": "0.01", "price_monthly": "5",
    "backup_price_hourly": "0.001", "backup_price_monthly": "1", "position": "99",
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rate", "message"), [("0", "greater than or equal to 1"), ("100001", "less than or equal to 100000")]
)
def test_a_rate_that_hosts_cannot_keep_is_refused(admin, world, rate, message):
    answer = admin.post(list_address(InstanceType) + "add/", NEW_TYPE | {"network_out": rate})
    [error] = answer.context["adminform"].form.errors["network_out"]
    assert message in error
    assert not InstanceType.objects.filter(pk="g6-new").exists()


def test_the_largest_rate_is_the_largest_that_hosts_keep():
    assert InstanceType.MAX_NETWORK_OUT == packet_tables.MAX_MBIT


@pytest.mark.django_db
def test_a_type_is_added_in_gb_and_its_sizes_stay(admin, world):
    typed = NEW_TYPE
    answer = admin.post(list_address(InstanceType) + "add/", typed)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    made = InstanceType.objects.get(pk="g6-new")
    assert (made.memory, made.disk) == (512, 25600)
    admin.post(page_address(made), typed | {"label": "Newer", "memory": "64"})
    made.refresh_from_db()
    assert (made.label, made.memory) == ("Newer", 512)
    assert "512 MB" in admin.get(list_address(InstanceType)).content.decode()
