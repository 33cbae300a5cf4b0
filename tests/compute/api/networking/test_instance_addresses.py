"""The API of the addresses of one instance."""

import time
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.models import Address, AddressPool, AddressShare, Instance, IPv6Range, NodeBalancerNode
from compute.services.networking import rdns
from compute.services.networking.assign import TOO_MANY
from compute.services.removal import remove
from config.egress import resolver
from config.limits import rates
from tests.client import errors
from tests.compute.api.networking.addresses import allow
from tests.factories import GrantFactory, NodeBalancerFactory
from tests.managed.servers import NameServer

pytestmark = pytest.mark.django_db


def ips(instance: Instance, address: str = "") -> str:
    return f"/v4/compute/instances/{instance.pk}/ips" + (f"/{address}" if address else "")


def add(api, instance: Instance, public: bool):
    return api.post(ips(instance), {"type": "ipv4", "public": public})


class TestAdding:
    def test_a_private_address_shows_in_every_place(self, api, instance):
        response = add(api, instance, public=False)

        assert response.status_code == 200
        assert response.json() == {
            "address": "10.0.0.2",
            "gateway": None,
            "subnet_mask": "255.255.255.0",
            "prefix": 24,
            "type": "ipv4",
            "public": False,
            "rdns": None,
            "compute_id": instance.pk,
            "region": "us-test",
        }
        assert api.get(f"/v4/compute/instances/{instance.pk}").json()["ipv4"] == ["198.18.0.2", "10.0.0.2"]
        assert [each["address"] for each in api.get(ips(instance)).json()["ipv4"]["private"]] == ["10.0.0.2"]

    def test_tells_of_it_naming_the_address(self, api, instance):
        add(api, instance, public=False)
        event = Event.objects.get()
        assert (event.action, event.status, event.entity_id) == ("compute_addip", "notification", instance.pk)
        assert (event.secondary_type, event.secondary_id) == ("ipaddress", "10.0.0.2")
        assert event.secondary_url == "/v4/networking/ips/10.0.0.2"

    def test_a_second_private_address_is_refused(self, api, instance):
        add(api, instance, public=False)
        refused = add(api, instance, public=False)
        assert refused.status_code == 400
        assert errors(refused) == {None: "A compute has at most one private IPv4 address."}
        assert Address.objects.filter(instance=instance).count() == 2
        assert Event.objects.count() == 1

    def test_more_public_ones_need_support_until_the_account_may_have_them(self, api, instance, world):
        refused = add(api, instance, public=True)
        assert refused.status_code == 400
        assert errors(refused) == {
            None: "Additional IPv4 addresses require technical justification.  "
            "Please contact support describing your requirement"
        }

        allow(world, 1)
        made = add(api, instance, public=True).json()
        assert (made["address"], made["gateway"]) == ("198.18.0.3", "198.18.0.1")
        assert made["rdns"] == "198-18-0-3.ip.skerry.example"
        assert errors(add(api, instance, public=True)) == {None: TOO_MANY}

    def test_the_limit_counts_all_instances_of_the_account_and_none_of_others(self, api, instance, world, stranger):
        from accounts.actors import Actor

        allow(world, 1)
        second = world.create(label="second")
        world.create(Actor(stranger.account_id, stranger.pk, stranger.username), label="theirs")
        assert add(api, second, public=True).status_code == 200
        assert errors(add(api, instance, public=True)) == {None: TOO_MANY}

    def test_an_address_kept_in_another_region_does_not_count(self, api, instance, world):
        """During a move, an instance has addresses of both regions."""
        from tests.factories import AddressPoolFactory, RegionFactory

        allow(world, 1)
        pool = AddressPoolFactory(region=RegionFactory(id="us-other"), network="198.19.0.0/24", addresses=1)
        pool.addresses.update(instance=instance)
        shown = api.get(ips(instance)).json()["ipv4"]
        assert [each["address"] for each in shown["reserved"]] == ["198.19.0.2"]
        assert [each["address"] for each in shown["public"]] == ["198.18.0.2"]
        assert add(api, instance, public=True).status_code == 200

    def test_a_new_address_never_becomes_the_first(self, api, instance, world):
        allow(world, 2)
        Address.objects.filter(address="198.18.0.9").update(instance=instance)
        Address.objects.filter(address="198.18.0.2").update(instance=None)
        Instance.objects.filter(pk=instance.pk).update(ipv4=["198.18.0.9"])
        add(api, instance, public=True)
        instance.refresh_from_db()
        assert instance.ipv4[0] == "198.18.0.9"
        assert len(instance.ipv4) == 2
        assert [each["address"] for each in api.get(ips(instance)).json()["ipv4"]["public"]] == instance.ipv4

    def test_an_exhausted_pool_is_a_plain_refusal(self, api, instance, world):
        allow(world, 5)
        Address.objects.filter(instance=None).delete()
        for public, kind in ((True, "public"), (False, "private")):
            refused = add(api, instance, public=public)
            assert refused.status_code == 400
            assert errors(refused) == {None: f"No {kind} addresses are left in this region."}

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"type", "public"}),
            ({"type": "ipv6", "public": 1}, {"type", "public"}),
            ({"type": "ipv4", "public": None}, {"public"}),
        ],
    )
    def test_all_wrong_fields_are_named(self, body, fields, api, instance):
        refused = api.post(ips(instance), body)
        assert refused.status_code == 400
        assert set(errors(refused)) == fields

    @pytest.mark.parametrize("status", ["migrating", "deleting"])
    def test_while_it_moves_or_goes_its_addresses_stay(self, status, api, instance, world):
        allow(world, 5)
        add(api, instance, public=True)
        Instance.objects.filter(pk=instance.pk).update(status=status)
        calls = [
            add(api, instance, public=True),
            add(api, instance, public=False),
            api.put(ips(instance, "198.18.0.2"), {"rdns": "web.example.com"}),
            api.delete(ips(instance, "198.18.0.2")),
        ]
        for response in calls:
            assert (response.status_code, errors(response)) == (400, {None: "Compute busy."})
        assert Address.objects.filter(instance=instance).count() == 2

    def test_costs_the_same_however_many_there_are(self, api, instance, world):
        allow(world, 20)

        def cost() -> int:
            with CaptureQueriesContext(connection) as queries:
                assert api.get(ips(instance)).status_code == 200
            return len(queries)

        cost()
        few = cost()
        for _ in range(5):
            add(api, instance, public=True)
        assert cost() == few


class TestTheWholePicture:
    def test_of_a_new_instance(self, api, instance):
        shown = api.get(ips(instance)).json()
        assert [each["address"] for each in shown["ipv4"]["public"]] == ["198.18.0.2"]
        assert shown["ipv4"]["private"] == shown["ipv4"]["shared"] == shown["ipv4"]["reserved"] == []
        slaac, link_local = shown["ipv6"]["slaac"], shown["ipv6"]["link_local"]
        assert slaac["address"] == instance.ipv6.removesuffix("/128")
        assert {**slaac, "address": ""} == {
            "address": "", "gateway": "fe80::1", "subnet_mask": "ffff:ffff:ffff:ffff::", "prefix": 64,
            "type": "ipv6", "public": True, "rdns": None, "compute_id": instance.pk, "region": "us-test",
        }  # fmt: skip
        assert link_local["address"].startswith("fe80::f03c:")
        assert {**slaac, "address": "", "public": False} == {**link_local, "address": ""}
        assert shown["ipv6"]["global"] == []

    def test_has_ranges_and_shared_addresses(self, api, instance, world):
        other = world.create(label="other")
        AddressShare.objects.create(address=other.addresses.get(), instance=instance)
        pool = AddressPool.objects.create(
            region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1"
        )
        IPv6Range.objects.create(
            account=world.account, region=world.region, pool=pool, range="2001:db8:5000::", prefix=64,
            instance=instance,
        )  # fmt: skip
        shown = api.get(ips(instance)).json()
        assert [(each["address"], each["compute_id"]) for each in shown["ipv4"]["shared"]] == [
            (other.ipv4[0], other.pk)
        ]
        assert shown["ipv6"]["global"] == [
            {
                "range": "2001:db8:5000::",
                "prefix": 64,
                "region": "us-test",
                "route_target": instance.ipv6.removesuffix("/128"),
            }
        ]

    def test_without_ipv6_there_is_no_slaac_address(self, api, instance):
        Instance.objects.filter(pk=instance.pk).update(ipv6=None)
        assert api.get(ips(instance)).json()["ipv6"]["slaac"] is None


class TestOneAddress:
    def test_is_found_in_any_spelling(self, api, instance):
        slaac = instance.ipv6.removesuffix("/128")
        link_local = api.get(ips(instance)).json()["ipv6"]["link_local"]["address"]
        for address in ("198.18.0.2", slaac, link_local):
            assert api.get(ips(instance, address)).json()["address"] == address
        spelt = ":".join(f"{int(part or '0', 16):04X}" for part in slaac.split(":"))
        assert api.get(ips(instance, spelt)).json()["address"] == slaac

    @pytest.mark.parametrize(
        "address", ["198.18.0.3", "10.0.0.2", "::ffff:198.18.0.2", "1.2.3", "web", "fe80::1%25e"]
    )
    def test_an_address_of_others_or_of_nobody_is_not_found(self, address, api, instance):
        for call in (api.get, api.delete):
            assert call(ips(instance, address)).status_code == 404
        assert api.put(ips(instance, address), {"rdns": None}).status_code == 404

    def test_is_of_the_instance_in_the_path(self, api, instance, world):
        other = world.create(label="other")
        assert api.get(ips(instance, other.ipv4[0])).status_code == 404


class TestDeleting:
    def test_the_last_public_one_is_refused(self, api, instance):
        refused = api.delete(ips(instance, "198.18.0.2"))
        assert refused.status_code == 400
        assert "last public" in errors(refused)[None]
        assert Address.objects.get(address="198.18.0.2").instance == instance

    def test_a_private_one_is_released_with_its_shares_and_nodes(self, api, instance, world):
        add(api, instance, public=False)
        other = world.create(label="other", private_ip=True)
        address = Address.objects.get(address="10.0.0.2")
        AddressShare.objects.create(address=address, instance=other)
        NodeBalancerFactory(to=instance)

        assert api.delete(ips(instance, "10.0.0.2")).json() == {}

        address.refresh_from_db()
        assert (address.instance, address.rdns) == (None, None)
        assert address.released is not None
        assert not AddressShare.objects.exists()
        assert not NodeBalancerNode.objects.exists()
        instance.refresh_from_db()
        assert instance.ipv4 == ["198.18.0.2"]
        assert Event.objects.filter(action="compute_deleteip", secondary_id="10.0.0.2").count() == 1
        assert add(api, instance, public=False).json()["address"] != "10.0.0.2", "long released ones come first"

    def test_one_of_two_public_ones_and_its_name_go(self, api, instance, world):
        allow(world, 1)
        add(api, instance, public=True)
        api.put(ips(instance, "198.18.0.2"), {"rdns": "web.example.com"})
        assert api.delete(ips(instance, "198.18.0.2")).status_code == 200
        instance.refresh_from_db()
        assert instance.ipv4 == ["198.18.0.3"]
        assert Address.objects.get(address="198.18.0.2").rdns is None
        assert api.delete(ips(instance, "198.18.0.3")).status_code == 400
        assert add(api, instance, public=True).status_code == 200, "the account may have it again"

    def test_ipv6_addresses_stay(self, api, instance):
        link_local = api.get(ips(instance)).json()["ipv6"]["link_local"]["address"]
        for address in (instance.ipv6.removesuffix("/128"), link_local):
            assert errors(api.delete(ips(instance, address))) == {None: "IPv6 addresses cannot be deleted."}

    def test_with_their_instance_all_go(self, api, instance, world):
        allow(world, 1)
        add(api, instance, public=True)
        other = world.create(label="other")
        AddressShare.objects.create(address=instance.addresses.first(), instance=other)
        remove(instance)
        assert Address.objects.filter(address__in=["198.18.0.2", "198.18.0.3"], instance=None).count() == 2
        assert not AddressShare.objects.exists()


class TestReverseNames:
    def test_are_set_shown_and_restored(self, api, instance):
        path = ips(instance, "198.18.0.2")
        assert api.get(path).json()["rdns"] == "198-18-0-2.ip.skerry.example"
        assert api.put(path, {"rdns": "Web.example.com"}).json()["rdns"] == "Web.example.com"
        assert api.get(path).json()["rdns"] == "Web.example.com"
        assert api.put(path, {"rdns": None}).json()["rdns"] == "198-18-0-2.ip.skerry.example"
        assert Address.objects.get(address="198.18.0.2").rdns is None
        assert [event.action for event in Event.objects.all()] == ["ipaddress_update"] * 2

    def test_the_same_again_changes_nothing(self, api, instance):
        assert api.put(ips(instance, "198.18.0.2"), {"rdns": None}).status_code == 200
        assert not Event.objects.exists()

    @pytest.mark.parametrize(
        "name",
        ["", "web", "web..example.com", "-web.example.com", "web.example.com..", "a b.example.com",
         "w\u3002b.example.com", "w_é.example.com", f"{'é' * 60}.example.com", f"{'a' * 64}.example.com",
         ".".join(["a" * 60] * 5), 5, "web\n.example.com"],
    )  # fmt: skip
    def test_are_host_names(self, name, api, instance):
        refused = api.put(ips(instance, "198.18.0.2"), {"rdns": name})
        assert refused.status_code == 400
        assert set(errors(refused)) == {"rdns"}

    def test_may_end_with_a_dot(self, api, instance, settings):
        settings.RDNS_CHECK, settings.RDNS_RESOLVER = True, f"{__name__}.known"
        path = ips(instance, "198.18.0.2")
        assert api.put(path, {"rdns": "web.example.com."}).json()["rdns"] == "web.example.com"
        assert api.get(path).json()["rdns"] == "web.example.com"

    def test_in_unicode_are_kept_as_punycode(self, api, instance):
        path = ips(instance, "198.18.0.2")
        for _ in range(2):
            assert api.put(path, {"rdns": "münchen.example.com."}).json()["rdns"] == "xn--mnchen-3ya.example.com"
        assert Event.objects.count() == 1

    def test_the_default_reverse_name_restores_the_default(self, api, instance):
        path = ips(instance, "198.18.0.2")
        api.put(path, {"rdns": "web.example.com"})
        assert api.put(path, {"rdns": "198-18-0-2.ip.skerry.example."}).status_code == 200
        assert Address.objects.get(address="198.18.0.2").rdns is None

    def test_have_to_be_given(self, api, instance):
        assert errors(api.put(ips(instance, "198.18.0.2"), {})) == {"rdns": "rdns is required"}

    def test_only_public_ipv4_has_them(self, api, instance):
        add(api, instance, public=False)
        for address in ("10.0.0.2", instance.ipv6.removesuffix("/128")):
            refused = api.put(ips(instance, address), {"rdns": "web.example.com"})
            assert refused.status_code == 400
            assert set(errors(refused)) == {"rdns"}


def never(name: str, timeout: float) -> frozenset[str]:
    raise rdns.Unresolved


def known(name: str, timeout: float) -> frozenset[str]:
    """Resolve the one known name, which has two addresses."""
    return frozenset({"198.18.0.2", "2001:db8::1"}) if name == "web.example.com" else frozenset()


class TestForwardRecords:
    def put(self, api, instance, settings, resolver, name):
        settings.RDNS_CHECK = True
        settings.RDNS_RESOLVER = f"{__name__}.{resolver}"
        return api.put(ips(instance, "198.18.0.2"), {"rdns": name})

    def test_a_name_that_resolves_to_the_address_is_accepted(self, api, instance, settings):
        response = self.put(api, instance, settings, "known", "web.example.com")
        assert response.json()["rdns"] == "web.example.com"

    def test_name_servers_are_not_asked_often_for_one_account(self, api, instance, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "reverse_name": "2/60"}
        rates.forget()
        asked = [self.put(api, instance, settings, "never", f"{n}.example.com") for n in range(3)]
        assert [answer.status_code for answer in asked] == [400, 400, 429]
        assert asked[-1]["Retry-After"]
        rates.forget()

    def test_none_or_another_will_not(self, api, instance, settings):
        refused = self.put(api, instance, settings, "known", "mail.example.com")
        assert refused.status_code == 400
        assert "No A record" in errors(refused)["rdns"]
        assert Address.objects.get(address="198.18.0.2").rdns is None

    def test_a_name_server_that_does_not_answer_is_reported(self, api, instance, settings):
        refused = self.put(api, instance, settings, "never", "web.example.com")
        assert "Try again later" in errors(refused)["rdns"]

    def test_restoring_the_default_asks_nobody(self, api, instance, settings):
        assert self.put(api, instance, settings, "never", None).status_code == 200


class TestTheResolver:
    """The default resolver, which asks the name servers of the setting PROBE_NAMESERVERS."""

    @pytest.fixture
    def dns(self, settings, monkeypatch) -> Iterator[NameServer]:
        # honest answers may take long on a busy machine
        monkeypatch.setattr(resolver, "GRACE_SECONDS", 120.0)
        settings.RDNS_TIMEOUT = 120
        with NameServer() as server:
            settings.PROBE_NAMESERVERS = [server.setting]
            yield server

    def test_finds_all_addresses_and_tries_no_search_domain(self, dns):
        dns.names["web.example.com"] = ["198.18.0.2", "2001:db8::1"]
        assert rdns.system_resolver("web.example.com", 120) == {"198.18.0.2", "2001:db8::1"}
        assert {name for name, _ in dns.asked} == {"web.example.com"}

    def test_knows_an_absent_name_from_a_failure(self, dns):
        dns.names |= {"empty.example.com": [], "broken.example.com": []}
        dns.broken |= {("broken.example.com", "A"), ("broken.example.com", "AAAA")}
        assert rdns.system_resolver("absent.example.com", 120) == frozenset()
        assert rdns.system_resolver("empty.example.com", 120) == frozenset()
        with pytest.raises(rdns.Unresolved):
            rdns.system_resolver("broken.example.com", 120)

    def test_is_waited_for_no_longer_than_said(self, dns, settings):
        settings.PROBE_DNS_TIMEOUT = 600
        dns.names["slow.example.com"] = None
        began = time.monotonic()
        with pytest.raises(rdns.Unresolved):
            rdns.system_resolver("slow.example.com", 0.1)
        assert time.monotonic() - began < 120

    def test_is_required_of_requests_if_the_setting_is_on(self, dns, api, instance, settings):
        settings.RDNS_CHECK = True
        dns.names["web.example.com"] = ["198.18.0.2"]
        assert api.put(ips(instance, "198.18.0.2"), {"rdns": "web.example.com"}).status_code == 200
        refused = api.put(ips(instance, "198.18.0.2"), {"rdns": "mail.example.com"})
        assert "No A record" in errors(refused)["rdns"]


class TestWhoMay:
    def test_reading_needs_a_grant_and_changing_a_stronger_one(self, client_for, restricted, instance, world):
        allow(world, 1)
        api = client_for(restricted)
        path = ips(instance, "198.18.0.2")
        assert api.get(ips(instance)).status_code == api.get(path).status_code == 404
        assert add(api, instance, public=True).status_code == 404

        grant = GrantFactory(user=restricted, entity_id=instance.pk)
        assert api.get(ips(instance)).status_code == api.get(path).status_code == 200
        assert add(api, instance, public=True).status_code == 403
        assert api.put(path, {"rdns": None}).status_code == api.delete(path).status_code == 403

        grant.permissions = "read_write"
        grant.save()
        assert add(api, instance, public=True).status_code == 200
        assert api.delete(path).status_code == 200

    def test_scopes(self, client_for, owner, instance):
        reads = client_for(owner, "computes:read_only")
        assert reads.get(ips(instance)).status_code == 200
        assert add(reads, instance, public=False).status_code == 401
        assert client_for(owner, "ips:read_write").get(ips(instance)).status_code == 401

    def test_strangers_find_nothing(self, client_for, stranger, instance):
        api = client_for(stranger)
        assert api.get(ips(instance)).status_code == 404
        assert api.delete(ips(instance, "198.18.0.2")).status_code == 404
