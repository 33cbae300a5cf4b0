"""The lists of all addresses and ranges of the account, and the forms that they link to."""

import pytest
from django.test import Client
from django.urls import reverse

from compute.models import Address, Instance, IPv6Range
from compute.pages.networking.address_moves import NO_INSTANCES
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import events, instance_with_parts, text
from tests.factories import AddressPoolFactory, GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account, label="web-1")


@pytest.fixture
def other(account, instance) -> Instance:
    return instance_with_parts(account, label="web-2", region=instance.region)


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)


def first(instance: Instance) -> Address:
    return instance.addresses.earliest("pk")


def granted_on(instance: Instance, level: str) -> Client:
    user = GlobalGrantsFactory(user__account=instance.account).user
    GrantFactory(user=user, entity_id=instance.pk, permissions=level)
    return signed_in(user)


def test_the_list_has_every_kind_of_address(browser, instance, other):
    Address.objects.filter(pk=first(instance).pk).update(rdns="www.example.com")
    Address.objects.filter(pk=first(other).pk).update(public=False)
    shown = text(browser.get("/home/addresses"))
    for words in (first(instance).address, "www.example.com", "private IPv4", "IPv6 (SLAAC)", "2001:db8:77::1"):
        assert words in shown
    assert f'href="/home/instances/{other.pk}/network">web-2</a>' in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("kind=private", 1), ("kind=public", 3), ("kind=ipv6", 2), ("kind=other", 0), ("instance=WEB-2", 3),
        ("region=us-none", 0), ("address=db8:77", 2), ("address=%25", 0), ("order=-address", 6),
        ("order=region", 6),
    ],
)  # fmt: skip
def test_filters_find_addresses(browser, instance, other, query, found):
    Address.objects.filter(pk=first(other).pk).update(public=False)
    answer = browser.get(f"/home/addresses?{query}")
    assert len(answer.context["rows"]) == found


def test_an_address_is_added_to_a_chosen_instance(browser, account, instance):
    AddressPoolFactory(region=instance.region, addresses=1)
    type(account).objects.filter(pk=account.pk).update(extra_ipv4=5)
    answer = browser.post("/home/addresses/new", {"compute_id": instance.pk, "public": "true"}, follow=True)
    assert answer.redirect_chain == [("/home/addresses", 302)]
    assert "was added to web-1." in text(answer)
    assert instance.addresses.count() == 3
    assert events(instance) == ["compute_addip"]


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"public": "true"}, "compute_id", "Instance is required"),
        ({"compute_id": "77777", "public": "true"}, "compute_id", "Instance is not valid"),
        ({"compute_id": "x", "public": "true"}, "compute_id", "Instance is not valid"),
        ({}, "public", "Kind is required"),
    ],
)
def test_reasons_stand_at_the_fields_of_a_new_address(browser, instance, given, field, reason):
    assert problems(browser.post("/home/addresses/new", given), field) == reason
    assert events(instance) == []


def test_forms_about_an_address_lead_back_to_the_list(browser, settings, instance, other):
    settings.RDNS_CHECK = False
    address = first(instance)
    name = browser.post(reverse("address-rdns", args=[address]), {"rdns": "www.example.com"}, follow=True)
    assert f"The reverse name of {address} is www.example.com." in text(name)
    move = browser.post(reverse("address-move", args=[address]), {"target": f"to:{other.pk}"}, follow=True)
    assert f"The address {address} was moved." in text(move)
    gone = browser.post(reverse("address-delete", args=[address]), follow=True)
    assert f"The address {address} was deleted." in text(gone)
    for answer in (name, move, gone):
        assert answer.redirect_chain == [("/home/addresses", 302)]
    assert events(instance) == ["ipaddress_update", "compute_deleteip", "compute_addip", "compute_deleteip"]


def test_the_last_public_address_cannot_be_deleted(browser, instance):
    instance.addresses.exclude(pk=first(instance).pk).update(instance=None)
    assert "This is the last public address of the instance." in text(browser.get("/home/addresses"))


def test_readers_have_no_verbs(instance, other):
    reader = granted_on(instance, "read_only")
    shown = text(reader.get("/home/addresses"))
    assert "web-1" in shown
    assert "web-2" not in shown
    assert "Move or swap" not in shown
    assert "Add address" not in shown
    for page in ("address-rdns", "address-move", "address-delete"):
        assert reader.post(reverse(page, args=[first(instance)])).status_code == 403
        assert reader.get(reverse(page, args=[first(other)])).status_code == 404
    for page in ("/home/addresses/new", "/home/addresses/ranges/new"):
        assert "You have no instance that you may change." in text(reader.get(page))
    answer = reader.post("/home/addresses/new", {"compute_id": instance.pk, "public": "true"})
    assert problems(answer, "compute_id") == "Unauthorized"
    assert events(instance) == []


def test_ranges_are_created_moved_and_deleted(browser, instance, other):
    form = {"compute_id": instance.pk, "prefix_length": "64"}
    answer = browser.post("/home/addresses/ranges/new", form, follow=True)
    made = instance.ipv6_ranges.latest("pk")
    assert answer.redirect_chain == [("/home/addresses/ranges", 302)]
    assert f"The range {made} is routed to web-1." in text(answer)
    assert '<button class="btn btn-primary">' in text(browser.get(reverse("range-move", args=[made.pk])))
    answer = browser.post(reverse("range-move", args=[made.pk]), {"compute_id": other.pk}, follow=True)
    assert f"The range {made} was moved." in text(answer)
    assert other.ipv6_ranges.latest("pk") == made
    answer = browser.post(reverse("range-delete", args=[made.pk]), follow=True)
    assert f"The range {made} was deleted." in text(answer)
    assert events(instance) == ["compute_addip", "compute_deleteip", "compute_addip", "compute_deleteip"]


def test_forms_of_ranges_are_below_the_list_of_ranges(browser, instance):
    key = instance.ipv6_ranges.latest("pk").pk
    pages = [reverse("range-move", args=[key]), reverse("range-delete", args=[key]), "/home/addresses/ranges/new"]
    above = [("IP addresses", "/home/addresses"), ("IPv6 ranges", "/home/addresses/ranges")]
    assert [browser.get(page).context["trail"] for page in pages] == [above] * 3


def test_reasons_of_ranges_stand_at_their_fields(browser, instance):
    answer = browser.post("/home/addresses/ranges/new", {"prefix_length": "60"})
    assert problems(answer, "compute_id") == "Choose an instance."
    assert problems(answer, "prefix_length") == "Size is not valid"
    move = reverse("range-move", args=[instance.ipv6_ranges.get().pk])
    assert problems(browser.post(move, {"compute_id": "77777"}), "compute_id") == "Invalid instance ID 77777"
    assert problems(browser.post(move), "compute_id")
    page = text(browser.get(move))
    assert NO_INSTANCES.format(instance.region_id) in page
    assert '<button class="btn btn-primary" disabled>' in page
    assert events(instance) == []


def test_pools_have_no_verbs_and_hidden_instances_no_names(account, instance, other):
    IPv6Range.objects.filter(instance=instance).update(kind="pool")
    shared = other.ipv6_ranges.get()
    shared.shares.create(instance=instance)
    writer = granted_on(instance, "read_write")
    shown = text(writer.get("/home/addresses/ranges"))
    assert "another instance" in shown
    assert "web-2" not in shown
    assert "Actions of" not in shown
    for page in ("range-move", "range-delete"):
        assert writer.get(reverse(page, args=[shared.pk])).status_code == 404
        assert writer.get(reverse(page, args=[instance.ipv6_ranges.get().pk])).status_code == 404


def test_empty_lists_explain_addresses(browser, account):
    assert "You have no addresses yet" in text(browser.get("/home/addresses"))
    nobody = signed_in(GlobalGrantsFactory(user__account=account).user)
    assert "You see no addresses" in text(nobody.get("/home/addresses"))
    assert "You see no IPv6 ranges" in text(nobody.get("/home/addresses/ranges"))
