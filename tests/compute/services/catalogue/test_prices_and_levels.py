"""The sections `prices` and `trust_levels` of a catalogue file."""

import io
from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command

from accounts.models import Account, TrustLevel
from accounts.services.quotas import limits_for
from compute.models import InstanceType, ResourcePrice, UsageInterval
from compute.services.catalogue import exporting
from compute.services.catalogue.reading import read
from compute.services.seed import seed
from compute.services.usage.recording import record
from tests.compute.services.catalogue.files import apply, exported, refusals
from tests.factories import VolumeFactory

pytestmark = pytest.mark.django_db

PRICES = [
    {"id": "volume", "price": {"hourly": 0.00015, "monthly": 0.1}},
    {"id": "nodebalancer", "price": {"hourly": 0.015}},
    {"id": "transfer", "price": {"each": 0.005}},
]
GOLD = {
    "id": "gold",
    "label": "Gold",
    "limits": {"instances": 40, "memory": "64 GB", "volume_storage": "2 TB", "gpus": None},
}
STRICT = {"id": "new", "label": "New customer", "limits": {"instances": 2}}


def test_prices_are_exact_and_an_export_brings_them_back():
    assert apply({"prices": PRICES}) == ["add prices.volume", "add prices.nodebalancer", "add prices.transfer"]
    assert set(ResourcePrice.objects.values_list("id", "hourly", "monthly", "each")) == {
        ("volume", Decimal("0.00015"), Decimal("0.1"), 0),
        ("nodebalancer", Decimal("0.015"), None, 0),
        ("transfer", 0, None, Decimal("0.005")),
    }
    assert apply({"prices": PRICES}) == []
    for form in (exporting.as_yaml, exporting.as_json):
        assert apply(read_again(form)) == []
    assert sorted(exported("prices")["prices"], key=str) == sorted(PRICES, key=str)
    assert apply({"prices": [{"id": "volume", "price": {"hourly": 1}}]}) == [
        "change prices.volume", "remove prices.nodebalancer", "remove prices.transfer",
    ]  # fmt: skip
    assert ResourcePrice.objects.get().monthly is None
    messages = LogEntry.objects.filter(object_id="volume").values_list("change_message", flat=True)
    assert any("price.hourly 0.00015 -> 1; price.monthly 0.1 -> none" in message for message in messages)


def read_again(form) -> dict:
    catalogue = read(form(exporting.export(["prices", "trust_levels"])))
    return {name: exported(name)[name] for name in catalogue}


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ({"id": "backup", "price": {}}, "prices.backup.id: Must be one of volume, image,"),
        ({"id": "volume", "price": {"each": 1}}, "prices.volume.price.each: Only transfer has a price"),
        ({"id": "volume", "price": {"monthly": 1}}, "prices.volume.price.monthly: It limits the hourly"),
        ({"id": "volume", "price": {"hourly": -1}}, "prices.volume.price.hourly: Must be from 0 to 999999."),
        ({"id": "volume", "price": {"hourly": 1000000}}, "prices.volume.price.hourly: Must be from 0 to 999999."),
        ({"id": "volume", "price": {"hourly": 1e-7}}, "prices.volume.price.hourly: Must have six digits"),
        ({"id": "volume", "price": {"hourly": "1"}}, "prices.volume.price.hourly: Must be a number of USD."),
        ({"id": "transfer", "price": {"hourly": 1}}, "prices.transfer.price.hourly: Transfer has no price"),
        (
            {"id": "volume", "price": {"yearly": 1}},
            "prices.volume.price.yearly: The field does not exist. Use one of: id,",
        ),
    ],
)
def test_a_price_that_cannot_be_is_refused(item, line):
    [found] = refusals({"prices": [item]})
    assert found.startswith(line)
    assert not ResourcePrice.objects.exists()


def test_levels_have_limits_and_a_row_replaces_a_built_in_level(world):
    account = world.account
    Account.objects.update(trust_level="new")
    assert limits_for(account.pk)["instances"] == 10
    assert apply({"trust_levels": [GOLD, STRICT]}) == ["add trust_levels.gold", "add trust_levels.new"]
    assert limits_for(account.pk) == {"instances": 2}
    Account.objects.update(trust_level="gold")
    assert limits_for(account.pk) == {"instances": 40, "memory": 65_536, "volume_storage": 2048}
    for form in (exporting.as_yaml, exporting.as_json):
        assert apply(read_again(form)) == []
    limits = {"instances": 50, "memory": 65_536, "gpus": 1, "volume_storage": 2048}
    assert apply({"trust_levels": [{**GOLD, "limits": limits}, STRICT]}) == ["change trust_levels.gold"]
    message = LogEntry.objects.latest("pk").change_message
    assert message.startswith("catalogue: change: limits.gpus none -> 1; limits.instances 40 -> 50 - manage.py")


def test_a_level_that_accounts_have_is_not_removed_unless_it_is_built_in(world):
    apply({"trust_levels": [GOLD, STRICT]})
    Account.objects.update(trust_level="gold")
    assert refusals({"trust_levels": []}) == ["trust_levels.gold: Cannot be removed: 1 account has it."]
    assert TrustLevel.objects.count() == 2
    Account.objects.update(trust_level="new")
    assert apply({"trust_levels": []}) == ["remove trust_levels.gold", "remove trust_levels.new"]
    assert limits_for(world.account.pk)["instances"] == 10


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        ({"cores": 4, "ram": 1}, "There is no quota cores. Use one of: instances, vcpus, memory, gpus, disk,"),
        ({"instances": "ten"}, "instances: Must be a whole number."),
        ({"instances": -1}, "instances: Must be from 0 to 2147483647."),
        ({"memory": "64"}, "memory: Must be a number of MB, or a size such as 64 GB."),
        ({"volume_storage": "100 MB"}, "volume_storage: Must be a number of GB, or a size such as 10 TB."),
        ([], "Must be numbers by names of quotas"),
    ],
)
def test_limits_that_cannot_be_are_refused_by_their_names(limits, line):
    [found] = refusals({"trust_levels": [{"id": "gold", "label": "Gold", "limits": limits}]})
    assert found.startswith(f"trust_levels.gold.limits: {line}")
    if "ram" in limits:
        assert "There is no quota ram. " in found


def test_the_sections_are_the_operators_after_an_apply():
    assert seed()["resource prices"] == 6
    apply({"prices": PRICES, "trust_levels": []})
    assert ResourcePrice.objects.count() == 3
    assert seed(update=True)["resource prices"] == 0
    assert set(ResourcePrice.objects.values_list("pk", flat=True)) == {"volume", "nodebalancer", "transfer"}


def test_an_apply_begins_new_intervals_and_those_that_an_earlier_one_left_out(world, tmp_path):
    instance = world.offline()
    volume = VolumeFactory(account=world.account, size=20)
    record(world.account.pk, volumes=[volume.pk])
    file = tmp_path / "catalogue.json"
    types = exported("types")["types"]
    types[0]["price"] = {"hourly": 0.02, "monthly": 9}

    def command() -> str:
        output = io.StringIO()
        call_command("catalogue", "apply", str(file), "--yes", stdout=output)
        return output.getvalue()

    file.write_text(exporting.as_json({"types": types, "prices": PRICES}))
    assert "The new prices apply from now on to 2 resources." in command()
    intervals = UsageInterval.objects.all()
    assert {(each.resource, each.price_hourly, each.ended is None) for each in intervals} == {
        (instance.pk, Decimal("0.01"), False), (volume.pk, 0, False),
        (instance.pk, Decimal("0.02"), True), (volume.pk, Decimal("0.00015"), True),
    }  # fmt: skip
    assert command() == "Nothing to change.\n"
    InstanceType.objects.update(price_hourly=0.03)
    types[0]["price"] = {"hourly": 0.03, "monthly": 9}
    file.write_text(exporting.as_json({"types": types}))
    assert command() == "Nothing to change.\nThe new prices apply from now on to 1 resource.\n"
