"""The addresses of an account: the list, one address, assigning and sharing."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.models import Address, AddressPool, AddressShare, Instance, IPv6Range, NodeBalancerNode, RangeShare
from compute.services.networking import assign as assign_service
from tests.client import errors
from tests.compute.api.networking.addresses import allow, slaac
from tests.factories import AddressPoolFactory, GrantFactory, InstanceFactory, NodeBalancerFactory, RegionFactory

pytestmark = pytest.mark.django_db

IPS = "/v4/networking/ips"


@pytest.fixture
def first(world) -> Instance:
    return world.offline(label="first", private_ip=True)


@pytest.fixture
def second(world, first) -> Instance:
    made = world.offline(label="second")
    Event.objects.all().delete()
    return made


def listed(api, **kwargs) -> list[str]:
    return [each["address"] for each in api.get(IPS, **kwargs).json()["data"]]


@pytest.fixture
def elsewhere(world) -> Instance:
    """An instance of the account in another region, with an address there."""
    region = RegionFactory(id="us-other")
    made = InstanceFactory(account=world.account, region=region, type=world.type, ipv4=["198.19.0.2"])
    AddressPoolFactory(region=region, network="198.19.0.0/24", addresses=1).addresses.update(instance=made)
    return made


def range_of(instance: Instance, routed: AddressPool, first: str = "2001:db8:5000::") -> IPv6Range:
    return IPv6Range.objects.create(
        account=instance.account, region=instance.region, pool=routed, range=first, prefix=64, instance=instance
    )


class TestTheList:
    def test_has_all_addresses_of_all_instances(self, api, first, second):
        assert listed(api) == ["198.18.0.2", "198.18.0.3", "10.0.0.2", slaac(first), slaac(second)]

    def test_shows_each_as_it_is_shown_under_its_instance(self, api, first):
        under = api.get(f"/v4/compute/instances/{first.pk}/ips").json()
        mine = [*under["ipv4"]["public"], *under["ipv4"]["private"], under["ipv6"]["slaac"]]
        assert api.get(IPS).json()["data"] == mine
        for address in mine:
            assert api.get(f"{IPS}/{address['address']}").json() == address

    def test_leaves_out_free_addresses_and_those_of_others(self, api, client_for, stranger, first):
        assert len(listed(api)) == 3
        theirs = client_for(stranger)
        assert theirs.get(IPS).json() == {"data": [], "page": 1, "pages": 1, "results": 0}
        assert theirs.get(f"{IPS}/198.18.0.2").status_code == 404
        assert api.get(f"{IPS}/198.18.0.40").status_code == 404

    def test_filters_on_region_instance_and_address(self, api, first, elsewhere):
        assert listed(api, x_filter={"region": "us-other"}) == ["198.19.0.2"]
        assert listed(api, x_filter={"region": {"+neq": "us-other"}, "+order_by": "region"}) == listed(
            api, x_filter={"+or": [{"region": "us-test"}, {"region": "us-none"}]}
        )
        assert [each["address"] for each in api.get(f"{IPS}?region=us-other").json()["data"]] == ["198.19.0.2"]
        assert listed(api, x_filter={"address": "198.19.0.2"}) == ["198.19.0.2"]
        assert listed(api, x_filter={"compute_id": first.pk}) == [
            each["address"] for each in api.get(IPS).json()["data"] if each["compute_id"] == first.pk
        ]
        assert errors(api.get(IPS, x_filter={"address": "here"})) == {"X-Filter": "address is not valid"}
        assert errors(api.get(IPS, x_filter={"gateway": "198.19.0.1"})) == {"X-Filter": "Cannot filter on gateway"}

    def test_pages_over_both_kinds_in_two_queries(self, api, world):
        for number in range(13):
            world.offline(label=f"many-{number}")

        def page(number: int) -> dict:
            with CaptureQueriesContext(connection) as queries:
                answer = api.get(f"{IPS}?page_size=25&page={number}").json()
            assert len(queries) == 2
            return answer

        page(1)
        one, two = page(1), page(2)
        assert (one["results"], one["pages"], len(one["data"]), len(two["data"])) == (26, 2, 25, 1)
        assert two["data"][0]["type"] == "ipv6"
        addresses = [each["address"] for each in one["data"] + two["data"]]
        assert len(set(addresses)) == 26

    def test_a_region_with_two_slaac_pools_or_none_has_one_gateway(self, api, first):
        def gateways() -> list[str]:
            return [each["gateway"] for each in api.get(IPS).json()["data"] if each["type"] == "ipv6"]

        AddressPoolFactory(region=first.region, kind="slaac", network="2001:db8:78::/64", gateway="2001:db8:78::1")
        AddressPoolFactory(region=RegionFactory(id="us-other"), kind="slaac", network="2001:db8:79::/64")
        AddressPool.objects.filter(network="2001:db8:77::/64").update(gateway="2001:db8:77::1")
        assert gateways() == ["2001:db8:77::1"]
        AddressPool.objects.filter(kind="slaac").delete()
        assert gateways() == ["fe80::1"]

    def test_of_a_restricted_user_has_addresses_of_granted_instances(self, client_for, restricted, first, second):
        api = client_for(restricted)
        assert listed(api) == []
        GrantFactory(user=restricted, entity_id=second.pk)
        assert listed(api) == [*second.ipv4, slaac(second)]
        assert api.get(f"{IPS}/{first.ipv4[0]}").status_code == 404

    def test_scopes(self, client_for, owner, first):
        assert client_for(owner, "ips:read_only").get(IPS).status_code == 200
        assert client_for(owner, "computes:read_write").get(IPS).status_code == 401


class TestOneAddress:
    def test_is_found_in_any_spelling(self, api, first):
        spelt = slaac(first).upper().replace("::", ":0:0:", 1) if "::" in slaac(first) else slaac(first).upper()
        assert api.get(f"{IPS}/{spelt}").json()["address"] == slaac(first)

    def test_has_its_name_set(self, api, first, client_for, owner):
        changed = api.put(f"{IPS}/198.18.0.2", {"rdns": "web.example.com"})
        assert changed.json()["rdns"] == "web.example.com"
        assert api.get(f"{IPS}/198.18.0.2").json() == changed.json()
        assert errors(api.put(f"{IPS}/{slaac(first)}", {"rdns": "web.example.com"})).keys() == {"rdns"}
        assert client_for(owner, "ips:read_only").put(f"{IPS}/198.18.0.2", {"rdns": None}).status_code == 401

    def test_a_put_of_the_answer_of_get_changes_nothing(self, api, first, settings):
        settings.RDNS_CHECK = True  # the platform's own names are not needed
        api.get(IPS)
        for address in ("198.18.0.2", "10.0.0.2", slaac(first)):
            shown = api.get(f"{IPS}/{address}").json()
            assert api.put(f"{IPS}/{address}", shown).json() == shown
        Address.objects.filter(address="198.18.0.2").update(rdns="web.example.com")
        shown = api.get(f"{IPS}/198.18.0.2").json()
        assert api.put(f"{IPS}/198.18.0.2", shown).json() == shown
        assert not Event.objects.filter(action="ipaddress_update").exists()

    def test_the_reverse_name_needs_read_write_on_the_instance(self, client_for, restricted, first):
        api = client_for(restricted)
        grant = GrantFactory(user=restricted, entity_id=first.pk)
        for address in ("198.18.0.2", slaac(first)):
            assert api.put(f"{IPS}/{address}", {"rdns": "web.example.com"}).status_code == 403
        grant.permissions = "read_write"
        grant.save()
        assert api.put(f"{IPS}/198.18.0.2", {"rdns": "web.example.com"}).status_code == 200
        assert api.put(f"{IPS}/{slaac(first)}", {"rdns": "web.example.com"}).status_code == 400


class TestAdding:
    def test_names_the_instance_in_the_body(self, api, second):
        made = api.post(IPS, {"type": "ipv4", "public": False, "compute_id": second.pk})
        assert (made.status_code, made.json()["compute_id"], made.json()["address"]) == (200, second.pk, "10.0.0.3")
        second.refresh_from_db()
        assert second.ipv4 == ["198.18.0.3", "10.0.0.3"]
        refused = api.post(IPS, {"type": "ipv4", "public": True, "compute_id": second.pk})
        assert errors(refused) == {None: assign_service.TOO_MANY}

    def test_needs_an_instance_that_there_is(self, api, first, stranger):
        theirs = InstanceFactory(account=stranger.account)
        for pk in (theirs.pk, 10**9, 0, -1):
            refused = api.post(IPS, {"type": "ipv4", "public": False, "compute_id": pk})
            assert (refused.status_code, errors(refused)) == (400, {"compute_id": "compute_id is not valid"})
        for pk in (2**63, 10**30):
            refused = api.post(IPS, {"type": "ipv4", "public": False, "compute_id": pk})
            assert (refused.status_code, set(errors(refused))) == (400, {"compute_id"})
        assert set(errors(api.post(IPS, {}))) == {"type", "public", "compute_id"}

    def test_all_errors_are_named_before_compute_busy(self, api, first):
        Instance.objects.filter(pk=first.pk).update(status="migrating")
        body = {"type": "ipv6", "public": False, "compute_id": first.pk}
        assert errors(api.post(IPS, body)) == {
            "type": "type is not valid",
            None: "A compute has at most one private IPv4 address.",
        }
        assert set(errors(api.post(IPS, {**body, "compute_id": 0}))) == {"type", "compute_id"}

    def test_needs_to_write_addresses_alone(self, client_for, owner, restricted, first):
        body = {"type": "ipv4", "public": True, "compute_id": first.pk}
        for scopes in ("computes:read_write", "ips:read_only computes:read_write"):
            assert client_for(owner, scopes).post(IPS, body).status_code == 401
        answer = client_for(owner, "ips:read_write").post(IPS, body)
        assert (answer.status_code, answer["X-Accepted-OAuth-Scopes"]) == (400, "ips:read_write")
        assert client_for(restricted).post(IPS, body).status_code == 400
        GrantFactory(user=restricted, entity_id=first.pk)
        assert client_for(restricted).post(IPS, body).status_code == 403


def assign(api, *pairs: tuple[str, int], region: str = "us-test", path: str = f"{IPS}/assign"):
    moves = [{"address": address, "compute_id": pk} for address, pk in pairs]
    return api.post(path, {"region": region, "assignments": moves})


def addresses_of(*instances: Instance) -> list[list[str]]:
    """Return the IPv4 addresses of each instance. Checks that its rows and its array agree."""
    for instance in instances:
        instance.refresh_from_db()
        assert set(instance.ipv4) == set(instance.addresses.values_list("address", flat=True))
    return [instance.ipv4 for instance in instances]


class TestAssigning:
    @pytest.mark.parametrize("path", [f"{IPS}/assign", "/v4/networking/ipv4/assign"])
    def test_two_swap_their_addresses(self, path, api, first, second):
        pairs = [("198.18.0.2", second.pk), ("198.18.0.3", first.pk)]
        assert assign(api, *pairs, path=path).json() == {}
        assert addresses_of(first, second) == [["198.18.0.3", "10.0.0.2"], ["198.18.0.2"]]
        events = Event.objects.order_by("pk").values_list("action", "entity_id", "secondary_id")
        assert list(events) == [
            ("compute_deleteip", first.pk, "198.18.0.2"),
            ("compute_addip", second.pk, "198.18.0.2"),
            ("compute_deleteip", second.pk, "198.18.0.3"),
            ("compute_addip", first.pk, "198.18.0.3"),
        ]

    def test_the_last_public_one_cannot_go(self, api, first, second):
        refused = assign(api, ("198.18.0.2", second.pk))
        assert refused.status_code == 400
        assert errors(refused) == {
            "assignments": f"Compute {first.pk} would be left without a public IPv4 address."
        }
        assert addresses_of(first, second) == [["198.18.0.2", "10.0.0.2"], ["198.18.0.3"]]
        assert not Event.objects.exists()

    def test_a_second_private_one_cannot_come_but_a_swap_can(self, api, first, second, world):
        third = world.offline(label="third", private_ip=True)
        refused = assign(api, ("10.0.0.2", third.pk))
        assert errors(refused) == {"assignments": f"Compute {third.pk} would have 2 private IPv4 addresses."}
        assert assign(api, ("10.0.0.2", third.pk), ("10.0.0.3", first.pk)).status_code == 200
        assert addresses_of(first, third) == [["198.18.0.2", "10.0.0.3"], [third.ipv4[0], "10.0.0.2"]]
        assert assign(api, ("10.0.0.2", second.pk)).status_code == 200
        assert addresses_of(second, third) == [["198.18.0.3", "10.0.0.2"], [third.ipv4[0]]]

    def test_a_repeated_assignment_changes_nothing(self, api, first, second):
        before = Instance.objects.get(pk=first.pk).updated
        assert assign(api, ("198.18.0.2", first.pk)).status_code == 200
        assert not Event.objects.exists()
        assert Instance.objects.get(pk=first.pk).updated == before

    def test_all_or_nothing_with_every_fault_named(self, api, first, second, elsewhere, stranger, world):
        theirs = InstanceFactory(account=stranger.account)
        Address.objects.filter(address="198.18.0.50").update(instance=theirs)
        allow(world, 1)
        api.post(f"/v4/compute/instances/{first.pk}/ips", {"type": "ipv4", "public": True})
        Event.objects.all().delete()
        refused = assign(
            api,
            ("198.18.0.4", second.pk),
            ("198.18.0.4", second.pk),
            ("198.18.0.50", second.pk),
            ("198.18.0.51", second.pk),
            ("nonsense", theirs.pk),
            ("198.19.0.2", second.pk),
            ("198.18.0.2", elsewhere.pk),
            (slaac(first), second.pk),
            ("198.18.0.2/24", 10**18),
        )
        assert refused.status_code == 400
        assert errors(refused) == {
            "assignments[1].address": "This address is named twice.",
            "assignments[2].address": "IP Address not found.",
            "assignments[3].address": "IP Address not found.",
            "assignments[4].address": "IP Address not found.",
            "assignments[4].compute_id": f"Invalid Compute ID {theirs.pk}",
            "assignments[5].address": "This address is in another region.",
            "assignments[6].compute_id": "This compute is in another region.",
            "assignments[7].address": "IP Address not found.",
            "assignments[8].address": "IP Address not found.",
            "assignments[8].compute_id": f"Invalid Compute ID {10**18}",
        }
        assert addresses_of(first, second) == [["198.18.0.2", "198.18.0.4", "10.0.0.2"], ["198.18.0.3"]]
        assert not Event.objects.exists()

    def test_the_body(self, api, first):
        assert set(errors(api.post(f"{IPS}/assign", {}))) == {"region", "assignments"}
        assert errors(assign(api)) == {"assignments": "assignments must be at least 1 items"}
        assert set(errors(assign(api, region="us-none"))) == {"region", "assignments"}
        assert set(errors(assign(api, *[("198.18.0.2", first.pk)] * 101))) == {"assignments"}
        wrong = api.post(f"{IPS}/assign", {"region": "us-test", "assignments": [{"address": 1}, 5]})
        assert wrong.status_code == 400
        assert "assignments[0].address" in errors(wrong)

    def test_ranges_go_along_and_end_their_own_route(self, api, first, second, routed):
        plain, named = range_of(first, routed), range_of(first, routed, "2001:db8:5000:1::")
        IPv6Range.objects.filter(pk=named.pk).update(route_target="2001:db8::1")
        response = assign(api, ("2001:db8:5000::/64", second.pk), ("2001:DB8:5000:1::", second.pk))
        assert response.status_code == 200
        for each in (plain, named):
            each.refresh_from_db()
            assert (each.instance, each.route_target) == (second, None)
        assert Event.objects.filter(action="compute_addip", secondary_id="2001:db8:5000::/64").exists()
        refused = assign(api, ("2001:db8:5000::/56", first.pk), ("2001:db8:5000::1/64", first.pk))
        assert set(errors(refused)) == {"assignments[0].address", "assignments[1].address"}

    def test_an_unknown_region_is_named_with_all_unknown_objects(self, api, first):
        refused = assign(api, ("198.18.0.2", first.pk), ("198.18.0.99", 99999), region="us-none")
        assert errors(refused) == {
            "region": "region is not valid",
            "assignments[1].address": "IP Address not found.",
            "assignments[1].compute_id": "Invalid Compute ID 99999",
        }

    def test_errors_are_named_before_compute_busy(self, api, first, second):
        Instance.objects.filter(pk=first.pk).update(status="migrating")
        assert set(errors(assign(api, ("198.18.0.2", second.pk)))) == {"assignments"}

    def test_needs_to_write_addresses_alone(self, client_for, owner, first):
        assert assign(client_for(owner, "ips:read_write"), ("198.18.0.2", first.pk)).status_code == 200
        assert assign(client_for(owner, "computes:read_write"), ("198.18.0.2", first.pk)).status_code == 401

    def test_ends_the_share_that_the_new_holder_had_and_no_other(self, api, first, second, world):
        third = world.offline(label="third")
        address = Address.objects.get(address="198.18.0.2")
        for each in (second, third):
            AddressShare.objects.create(address=address, instance=each)
        assert assign(api, ("198.18.0.2", second.pk), ("198.18.0.3", first.pk)).status_code == 200
        assert [share.instance for share in AddressShare.objects.all()] == [third]

    def test_takes_along_the_nodes_that_are_balanced_to_it(self, api, first, second):
        NodeBalancerFactory(to=first)
        assert assign(api, ("10.0.0.2", second.pk)).status_code == 200
        assert NodeBalancerNode.objects.get().instance == second

    @pytest.mark.parametrize("moving", ["first", "second"])
    def test_is_refused_while_an_instance_moves(self, moving, api, first, second):
        Instance.objects.filter(label=moving).update(status="migrating")
        refused = assign(api, ("198.18.0.2", second.pk), ("198.18.0.3", first.pk))
        assert errors(refused) == {None: "Compute busy."}

    def test_needs_write_access_to_both_instances(self, client_for, restricted, first, second):
        api, pairs = client_for(restricted), [("198.18.0.2", second.pk), ("198.18.0.3", first.pk)]
        assert assign(api, *pairs).status_code == 400
        grants = [GrantFactory(user=restricted, entity_id=each.pk) for each in (first, second)]
        assert assign(api, *pairs).status_code == 403
        grants[1].permissions = "read_write"
        grants[1].save()
        assert assign(api, ("10.0.0.2", second.pk)).status_code == 403
        grants[0].permissions = "read_write"
        grants[0].save()
        assert assign(api, *pairs).status_code == 200


def share(api, instance: Instance, *addresses: str, path: str = f"{IPS}/share"):
    return api.post(path, {"compute_id": instance.pk, "ips": list(addresses)})


def global_ranges(api, instance: Instance) -> dict[str, str | None]:
    """Return the ranges among an instance's addresses, each with the address that it is routed to."""
    listed = api.get(f"/v4/compute/instances/{instance.pk}/ips").json()["ipv6"]["global"]
    return {each["range"]: each["route_target"] for each in listed}


def shown(api, instance: Instance) -> dict:
    """Return the first range. Checks that all answers show it in the same way."""
    one = api.get("/v4/networking/ipv6/ranges/2001:db8:5000::").json()
    target = api.get("/v4/networking/ipv6/ranges").json()["data"][0]["route_target"]
    assert global_ranges(api, instance)["2001:db8:5000::"] == target
    return {"computes": one["computes"], "is_bgp": one["is_bgp"], "route_target": target}


class TestSharing:
    @pytest.mark.parametrize("path", [f"{IPS}/share", "/v4/networking/ipv4/share"])
    def test_replaces_earlier_shares(self, path, api, first, second, world):
        third = world.offline(label="third")
        Event.objects.all().delete()
        assert share(api, third, "198.18.0.2", path=path).json() == {}
        assert share(api, third, "198.18.0.3", path=path).json() == {}
        shown = api.get(f"/v4/compute/instances/{third.pk}/ips").json()["ipv4"]["shared"]
        assert [(each["address"], each["compute_id"]) for each in shown] == [("198.18.0.3", second.pk)]
        events = Event.objects.values_list("action", "entity_id", "secondary_id").order_by("pk")
        assert list(events) == [
            ("ipaddress_update", third.pk, "198.18.0.2"),
            ("ipaddress_update", third.pk, "198.18.0.2"),
            ("ipaddress_update", third.pk, "198.18.0.3"),
        ]
        assert share(api, third).status_code == 200
        assert not AddressShare.objects.exists()

    def test_the_same_again_changes_nothing(self, api, first, second):
        for _ in range(2):
            assert share(api, second, "198.18.0.2", "198.18.0.2").status_code == 200
        assert Event.objects.count() == 1

    def test_addresses_that_cannot_be_shared_are_named(self, api, first, second, elsewhere, stranger, routed):
        theirs = InstanceFactory(account=stranger.account)
        Address.objects.filter(address="198.18.0.50").update(instance=theirs)
        range_of(first, routed)
        wrong = ["10.0.0.2", "198.19.0.2", "198.18.0.50", "x", "2001:db8:5000::/56", "2001:db8::", slaac(first)]
        refused = share(api, second, "198.18.0.2", *wrong)
        assert refused.status_code == 400
        assert errors(refused) == {
            "ips[1]": "Only public addresses can be shared.",
            "ips[2]": "This address is in another region.",
            **{f"ips[{n}]": "IP Address not found." for n in (3, 4, 5, 6, 7)},
        }
        assert not AddressShare.objects.exists()

    def test_an_address_of_the_instances_own_is_shared_with_it_already(self, api, first, second):
        assert share(api, second, "198.18.0.3", "198.18.0.2").json() == {}
        assert [share.address.address for share in AddressShare.objects.all()] == ["198.18.0.2"]
        assert Event.objects.count() == 1
        assert share(api, second, "198.18.0.2", "198.18.0.3").json() == {}
        assert Event.objects.count() == 1

    def test_ranges_are_shared_with_and_without_their_length(self, api, first, second, routed, world):
        """Ranges are shared like addresses. The range then shows all instances that it may be routed to."""
        third = world.offline(label="third")
        Event.objects.all().delete()
        one, other = range_of(first, routed), range_of(first, routed, "2001:db8:5000:1::")
        assert share(api, second, "198.18.0.2", "2001:db8:5000::/64", "2001:DB8:5000:1::").json() == {}
        assert {share.range for share in RangeShare.objects.filter(instance=second)} == {one, other}
        assert [event.secondary_id for event in Event.objects.order_by("pk")] == [
            "198.18.0.2",
            "2001:db8:5000::/64",
            "2001:db8:5000:1::/64",
        ]
        assert share(api, third, "2001:db8:5000::").json() == {}
        shown = api.get("/v4/networking/ipv6/ranges/2001:db8:5000::/64").json()
        assert (shown["computes"], shown["is_bgp"]) == ([first.pk, second.pk, third.pk], True)
        assert share(api, second, "2001:db8:5000:1::").status_code == 200
        assert not AddressShare.objects.exists()
        shown = api.get("/v4/networking/ipv6/ranges/2001:db8:5000::").json()
        assert shown["computes"] == [first.pk, third.pk]
        assert share(api, third).status_code == share(api, second).status_code == 200
        assert not RangeShare.objects.exists()
        assert api.get("/v4/networking/ipv6/ranges/2001:db8:5000::").json()["is_bgp"] is False

    def test_a_range_that_is_shared_with_its_own_instance_is_a_shared_one(self, api, first, second, routed):
        range_of(first, routed)
        range_of(first, routed, "2001:db8:5000:1::")
        assert shown(api, first) == {"computes": [first.pk], "is_bgp": False, "route_target": slaac(first)}
        assert share(api, first, "2001:db8:5000::").json() == {}
        assert shown(api, first) == {"computes": [first.pk], "is_bgp": True, "route_target": None}
        assert global_ranges(api, second) == {}
        assert Event.objects.filter(action="ipaddress_update", entity_id=first.pk).count() == 1
        assert share(api, first, "2001:db8:5000::").json() == {}
        assert Event.objects.count() == 1
        assert share(api, first).json() == {}
        assert shown(api, first) == {"computes": [first.pk], "is_bgp": False, "route_target": slaac(first)}

    def test_a_shared_range_is_shown_at_every_instance_without_a_route_target(self, api, first, second, routed):
        range_of(first, routed)
        range_of(first, routed, "2001:db8:5000:1::")
        share(api, first, "2001:db8:5000::")
        share(api, second, "2001:db8:5000::")
        assert global_ranges(api, first) == {"2001:db8:5000::": None, "2001:db8:5000:1::": slaac(first)}
        assert global_ranges(api, second) == {"2001:db8:5000::": None}
        assert shown(api, second) == {"computes": [first.pk, second.pk], "is_bgp": True, "route_target": None}
        share(api, first)
        assert shown(api, second) == {"computes": [first.pk, second.pk], "is_bgp": True, "route_target": None}
        share(api, second)
        assert global_ranges(api, first)["2001:db8:5000::"] == slaac(first)
        assert global_ranges(api, second) == {}

    def test_a_range_that_is_given_away_is_shared_with_neither_giver_nor_taker(
        self, api, first, second, routed, world
    ):
        range_of(first, routed)
        third = world.offline(label="third")
        for each in (first, second, third):
            share(api, each, "2001:db8:5000::")
        assert assign(api, ("2001:db8:5000::", second.pk)).status_code == 200
        assert [each.instance for each in RangeShare.objects.all()] == [third]

    def test_a_shared_range_shows_only_granted_instances(self, api, client_for, restricted, first, second, routed):
        range_of(first, routed)
        share(api, second, "2001:db8:5000::")
        GrantFactory(user=restricted, entity_id=first.pk)
        seen = client_for(restricted).get("/v4/networking/ipv6/ranges/2001:db8:5000::").json()
        assert (seen["computes"], seen["is_bgp"]) == ([first.pk], True)
        assert share(client_for(restricted), first, "2001:db8:5000::").status_code == 403

    def test_an_instance_with_shared_ranges_leaves_for_no_region_of_the_next_generation(
        self, api, first, second, routed
    ):
        RegionFactory(id="us-next", capabilities=["Computes", "Vlans"])
        range_of(first, routed)
        share(api, second, "2001:db8:5000::")
        for instance in (first, second):
            refused = api.post(f"/v4/compute/instances/{instance.pk}/migrate", {"region": "us-next"})
            assert "IP failover" in errors(refused)["region"]

    def test_needs_to_write_addresses_alone(self, client_for, owner, first, second):
        assert share(client_for(owner, "ips:read_write"), second, "198.18.0.2").status_code == 200
        assert share(client_for(owner, "computes:read_write"), second, "198.18.0.2").status_code == 401

    def test_the_body(self, api, first):
        assert set(errors(api.post(f"{IPS}/share", {}))) == {"compute_id", "ips"}
        assert set(errors(api.post(f"{IPS}/share", {"compute_id": 10**9, "ips": ["x"]}))) == {
            "compute_id",
            "ips[0]",
        }
        assert set(errors(share(api, first, *["198.18.0.9"] * 101))) == {"ips"}
        assert errors(api.post(f"{IPS}/share", {"compute_id": first.pk, "ips": [5]})).keys() == {"ips[0]"}

    def test_needs_to_write_on_both(self, client_for, restricted, first, second):
        api = client_for(restricted)
        assert share(api, second, "198.18.0.2").status_code == 400
        GrantFactory(user=restricted, entity_id=second.pk, permissions="read_write")
        assert set(errors(share(api, second, "198.18.0.2"))) == {"ips[0]"}
        grant = GrantFactory(user=restricted, entity_id=first.pk)
        assert share(api, second, "198.18.0.2").status_code == 403
        grant.permissions = "read_write"
        grant.save()
        assert share(api, second, "198.18.0.2").status_code == 200

    def test_is_refused_while_an_instance_moves(self, api, first, second):
        Instance.objects.filter(pk=first.pk).update(status="migrating")
        assert errors(share(api, second, "198.18.0.2")) == {None: "Compute busy."}
