"""The pages of an instance's addresses and ranges."""

import pytest
from django.urls import get_resolver

from compute.models import Address, Instance, IPv6Range
from compute.services.networking.assign import TOO_MANY
from config.limits import metering, rates
from config.server.lanes import Routes
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, send, text
from tests.factories import AddressPoolFactory, HostFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


@pytest.fixture
def public(instance) -> str:
    return instance.ipv4[0]


class TestTheTab:
    def test_all_addresses_can_be_copied(self, browser, instance):
        AddressPoolFactory(region=instance.region, kind="private", addresses=1)
        Address.objects.filter(public=False).update(instance=instance)
        shown = text(browser.get(address_of("instance-network", instance)))
        private, made = Address.objects.get(public=False).address, instance.ipv6_ranges.get()
        for address in (*instance.ipv4, private, "2001:db8:77::1", "fe80::", str(made)):
            assert f'class="font-monospace">{address}' in shown
        assert "routed to 2001:db8:77::1" in shown

    def test_vlans_lead_to_their_profile(self, browser, instance):
        shown = text(browser.get(address_of("instance-network", instance)))
        assert "backend" in shown
        assert "10.0.0.1/24" in shown
        assert address_of("instance-config-edit", instance, instance.configs.get().pk) in shown


class TestAdding:
    def test_a_private_address_is_added_once(self, browser, instance):
        AddressPoolFactory(region=instance.region, kind="private", addresses=2)
        send(browser, "instance-address-new", instance, public="false")
        assert instance.addresses.filter(public=False).count() == 1
        assert events(instance) == ["compute_addip"]
        answer = send(browser, "instance-address-new", instance, public="false")
        assert "An instance has at most one private IPv4 address." in text(answer)

    def test_the_account_s_limit_is_named(self, browser, instance):
        assert TOO_MANY in text(send(browser, "instance-address-new", instance, public="true"))

    def test_the_kind_is_needed(self, browser, instance):
        assert problems(send(browser, "instance-address-new", instance), "public") == "Kind is required"


class TestReverseNames:
    def test_a_name_is_set_and_given_back(self, browser, instance, public, settings):
        settings.RDNS_CHECK = False
        send(browser, "instance-address-rdns", instance, public, rdns="web.example.com")
        assert Address.objects.get(address=public).rdns == "web.example.com"
        assert events(instance) == ["ipaddress_update"]
        answer = send(browser, "instance-address-rdns", instance, public, rdns="")
        assert f"{public.replace('.', '-')}.ip.skerry.example" in text(answer)
        assert Address.objects.get(address=public).rdns is None

    def test_a_name_that_leads_elsewhere_is_refused_and_kept(self, browser, instance, public, settings):
        settings.RDNS_CHECK, settings.RDNS_RESOLVER = True, f"{__name__}.nowhere"
        answer = send(browser, "instance-address-rdns", instance, public, rdns="web.example.com")
        assert problems(answer, "rdns") == f"No A record of this name has the address {public}."
        assert 'value="web.example.com"' in text(answer)

    def test_look_ups_are_limited_together_with_the_api_s(self, browser, api, instance, public, settings):
        settings.RDNS_CHECK, settings.RDNS_RESOLVER = True, f"{__name__}.nowhere"
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "reverse_name": "1/60"}
        rates.forget()
        path = f"/v4/compute/instances/{instance.pk}/ips/{public}"
        assert api.put(path, {"rdns": "web.example.com"}).status_code == 400
        answer = send(browser, "instance-address-rdns", instance, public, rdns="web.example.com")
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        rates.forget()

    def test_they_count_as_expensive_calls_together_with_the_api_s(
        self, browser, api, account, instance, public, settings, monkeypatch
    ):
        settings.RDNS_CHECK = False
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "expensive": "6/60"}
        monkeypatch.setattr(metering, "FREE_SECONDS", -7)  # each call counts as seven seconds and more
        rates.forget()
        send(browser, "instance-address-rdns", instance, public, rdns="web.example.com")
        assert rates.limits().meter.spent[f"account:{account.pk}"][0] > 7
        path = f"/v4/compute/instances/{instance.pk}/ips/{public}"
        assert api.put(path, {"rdns": "other.example.com"}).status_code == 429
        answer = send(browser, "instance-address-rdns", instance, public, rdns="other.example.com")
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        assert "Too many attempts. Try again in " in text(answer)
        assert Address.objects.get(address=public).rdns == "web.example.com"
        rates.forget()

    def test_it_is_answered_where_the_api_s_is(self, instance, public):
        routes = Routes(get_resolver())
        page = address_of("instance-address-rdns", instance, public)
        assert routes.lane_of("POST", page, filtered=False) == "outside"
        assert routes.lane_of("GET", page, filtered=False) == "pages"

    @pytest.mark.parametrize("address", ["1.2.3.4", "999.9.9.9", "x", "fe80::1"])
    def test_other_addresses_are_not_found(self, browser, instance, address):
        path = f"/home/instances/{instance.pk}/addresses/{address}/rdns"
        assert browser.get(path).status_code == 404


def nowhere(name: str, timeout: float) -> frozenset[str]:
    return frozenset()


class TestDeleting:
    def test_one_goes_and_the_last_stays(self, browser, instance):
        first, last = instance.ipv4
        send(browser, "instance-address-delete", instance, first)
        assert [row.address for row in instance.addresses.all()] == [last]
        assert events(instance) == ["compute_deleteip"]
        shown = text(browser.get(address_of("instance-network", instance)))
        assert "unavailable: This is the last public address of the instance." in shown
        answer = send(browser, "instance-address-delete", instance, last)
        assert "The last public IPv4 address of an instance cannot be deleted." in text(answer)

    def test_it_waits_for_a_move(self, browser, instance, public):
        Instance.objects.update(status="migrating")
        assert "Another job runs on the instance. Try again later." in text(
            send(browser, "instance-address-delete", instance, public)
        )
        assert instance.addresses.count() == 2


class TestRanges:
    def test_a_range_is_created(self, browser, instance):
        send(browser, "instance-range-new", instance, prefix_length="56")
        assert sorted(each.prefix for each in instance.ipv6_ranges.all()) == [56, 64]
        assert events(instance) == ["compute_addip"]

    def test_a_size_that_there_is_not_is_refused(self, browser, instance):
        answer = send(browser, "instance-range-new", instance, prefix_length="48")
        assert problems(answer, "prefix_length") == "Size is not valid"

    def test_an_instance_without_ipv6_has_none(self, browser, instance):
        Instance.objects.update(ipv6=None)
        answer = send(browser, "instance-range-new", instance, prefix_length="64")
        assert "no IPv6 address that a range could be routed to" in problems(answer, "prefix_length")

    def test_a_range_is_deleted(self, browser, instance):
        send(browser, "instance-range-delete", instance, instance.ipv6_ranges.get().pk)
        assert not IPv6Range.objects.exists()
        assert events(instance) == ["compute_deleteip"]


def test_addresses_that_wait_in_another_region_are_shown(browser, instance):
    host = HostFactory(region__id="us-new")
    pool = AddressPoolFactory(region=host.region, addresses=1)
    Address.objects.filter(pool=pool).update(instance=instance)
    assert "reserved in us-new" in text(browser.get(address_of("instance-network", instance)))
