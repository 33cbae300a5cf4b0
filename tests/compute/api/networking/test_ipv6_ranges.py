"""IPv6 ranges and pools."""

import ipaddress
import random

import pytest

from accounts.models import Event
from compute.models import AddressPool, Instance, IPv6Range
from compute.services.networking.ranges import cut, give_pool
from compute.services.removal import remove
from config.errors import Invalid
from tests.client import errors
from tests.compute.api.networking.addresses import slaac
from tests.factories import AddressPoolFactory, GrantFactory, InstanceFactory, RegionFactory

pytestmark = pytest.mark.django_db

RANGES = "/v4/networking/ipv6/ranges"
POOLS = "/v4/networking/ipv6/pools"


def allocate(api, instance: Instance, length: int = 64):
    return api.post(RANGES, {"prefix_length": length, "compute_id": instance.pk})


class TestCreating:
    def test_routes_it_to_the_instance(self, api, instance, routed):
        made = allocate(api, instance)
        assert made.json() == {"range": "2001:db8:5000::/64", "route_target": slaac(instance)}
        row = IPv6Range.objects.get()
        assert (row.account_id, row.instance, row.kind) == (instance.account_id, instance, "range")
        event = Event.objects.get()
        assert (event.action, event.entity_id) == ("compute_addip", instance.pk)
        assert event.secondary_url == "/v4/networking/ipv6/ranges/2001:db8:5000::/64"

    def test_takes_the_slaac_address_in_any_spelling(self, api, instance, routed):
        body = {"prefix_length": 56, "route_target": slaac(instance).upper()}
        assert api.post(RANGES, body).json() == {"range": "2001:db8:5000::/56", "route_target": slaac(instance)}

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"prefix_length", "compute_id"}),
            ({"prefix_length": 60, "route_target": 5}, {"prefix_length", "route_target"}),
            ({"prefix_length": 60, "route_target": "x"}, {"prefix_length", "route_target"}),
            ({"prefix_length": 64}, {"compute_id"}),
            ({"prefix_length": 60, "compute_id": 0}, {"prefix_length", "compute_id"}),
            ({"prefix_length": "64", "compute_id": "1"}, {"prefix_length", "compute_id"}),
            ({"prefix_length": 64, "compute_id": 10**30}, {"compute_id"}),
            ({"prefix_length": 64, "compute_id": 10**18}, {"compute_id"}),
            ({"prefix_length": 64, "compute_id": 1, "route_target": "::1"}, {"route_target"}),
            ({"prefix_length": 64, "route_target": "x"}, {"route_target"}),
            ({"prefix_length": 64, "route_target": "2001:db8::1"}, {"route_target"}),
            ({"prefix_length": 64, "route_target": "198.18.0.2"}, {"route_target"}),
        ],
    )
    def test_wrong_fields_are_named(self, body, fields, api, instance, routed):
        refused = api.post(RANGES, body)
        assert refused.status_code == 400
        assert set(errors(refused)) == fields
        assert not IPv6Range.objects.exists()

    def test_another_accounts_instance_does_not_exist(self, api, routed, stranger, world):
        theirs = InstanceFactory(account=stranger.account, ipv6="2001:db8:77::9/128")
        assert set(errors(allocate(api, theirs))) == {"compute_id"}
        refused = api.post(RANGES, {"prefix_length": 64, "route_target": "2001:db8:77::9"})
        assert set(errors(refused)) == {"route_target"}

    def test_needs_ipv6_and_a_pool_with_room(self, api, instance, routed):
        AddressPool.objects.filter(kind="routed").update(network="2001:db8:5000::/63")
        assert "of this size are left" in errors(allocate(api, instance, 56))[None]
        assert [allocate(api, instance).status_code for _ in range(3)] == [200, 200, 400]
        Instance.objects.filter(pk=instance.pk).update(ipv6=None)
        assert set(errors(allocate(api, instance))) == {"compute_id"}

    def test_an_account_has_at_most_so_many_in_a_region(self, api, instance, routed, settings):
        settings.IPV6_RANGES = 2
        answers = [allocate(api, instance) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 400]
        assert "at most 2 IPv6 ranges in a region" in errors(answers[2])[None]
        api.delete(f"{RANGES}/2001:db8:5000::")
        assert allocate(api, instance).status_code == 200

    def test_is_refused_while_the_instance_moves(self, api, instance, routed):
        allocate(api, instance)
        Instance.objects.filter(pk=instance.pk).update(status="migrating")
        assert errors(allocate(api, instance)) == {None: "Compute busy."}
        assert errors(api.delete(f"{RANGES}/2001:db8:5000::")) == {None: "Compute busy."}


class TestCutting:
    def take(self, routed, account, prefix) -> str:
        made = cut(routed.region_id, prefix)
        made.account = account
        made.save()
        return str(made)

    def test_fills_gaps_first_for_all_sizes(self, routed, account):
        assert self.take(routed, account, 64) == "2001:db8:5000::/64"
        assert self.take(routed, account, 56) == "2001:db8:5000:100::/56"
        assert self.take(routed, account, 64) == "2001:db8:5000:1::/64"
        assert self.take(routed, account, 116) == "2001:db8:5000:2::/116"
        assert self.take(routed, account, 64) == "2001:db8:5000:3::/64"
        IPv6Range.objects.filter(range="2001:db8:5000::").delete()
        assert self.take(routed, account, 64) == "2001:db8:5000::/64"
        IPv6Range.objects.filter(prefix=116).delete()
        assert self.take(routed, account, 64) == "2001:db8:5000:2::/64"

    def test_goes_on_in_the_next_pool_of_the_region(self, routed, account, world):
        AddressPool.objects.filter(pk=routed.pk).update(network="2001:db8:5000::/56")
        AddressPoolFactory(region=RegionFactory(id="us-other"), kind="routed", network="2001:db8:6000::/48")
        AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:7000::/56")
        assert self.take(routed, account, 56) == "2001:db8:5000::/56"
        assert self.take(routed, account, 56) == "2001:db8:7000::/56"
        for prefix in (56, 64, 116):
            with pytest.raises(Invalid, match="left in this region"):
                self.take(routed, account, prefix)

    @pytest.mark.parametrize("seed", range(4))
    def test_against_a_plain_search(self, seed, routed, account):
        """Random allocations and releases, each compared with a walk over all blocks of the pool."""
        rng = random.Random(seed)
        pool = ipaddress.ip_network("2001:db8:5000::/58")
        AddressPool.objects.filter(pk=routed.pk).update(network=str(pool))
        taken: list[ipaddress.IPv6Network] = []
        for _ in range(60):
            if taken and rng.random() < 0.4:
                gone = taken.pop(rng.randrange(len(taken)))
                IPv6Range.objects.filter(range=str(gone.network_address)).delete()
            prefix = rng.choice((60, 62, 63, 64, 64))
            free = (b for b in pool.subnets(new_prefix=prefix) if not any(b.overlaps(other) for other in taken))
            expected = next(free, None)
            if expected is None:
                with pytest.raises(Invalid):
                    cut(routed.region_id, prefix)
                continue
            assert self.take(routed, account, prefix) == str(expected)
            taken.append(expected)


class TestReading:
    @pytest.mark.parametrize(
        "spelling",
        ["2001:db8:5000::", "2001:db8:5000::/64", "2001:db8:5000::%2F64", "2001:0DB8:5000:0:0:0:0:0/64"],
    )
    def test_a_range_is_found_with_or_without_its_length(self, spelling, api, instance, routed):
        allocate(api, instance)
        assert api.get(f"{RANGES}/{spelling}").json() == {
            "range": "2001:db8:5000::",
            "prefix": 64,
            "region": "us-test",
            "is_bgp": False,
            "computes": [instance.pk],
        }

    @pytest.mark.parametrize(
        "path", ["2001:db8:5000::/56", "2001:db8:5000:1::", "2001:db8:5000::/999", "x", "10.0.0.0"]
    )
    def test_unknown_ranges_are_not_found(self, path, api, instance, routed):
        allocate(api, instance)
        assert api.get(f"{RANGES}/{path}").status_code == api.delete(f"{RANGES}/{path}").status_code == 404

    def test_the_list(self, api, client_for, stranger, instance, routed):
        for length in (64, 56):
            allocate(api, instance, length)
        assert api.get(RANGES).json()["data"] == [
            {"range": first, "prefix": length, "region": "us-test", "route_target": slaac(instance)}
            for first, length in (("2001:db8:5000::", 64), ("2001:db8:5000:100::", 56))
        ]
        assert api.get(RANGES, {"region": "us-test"}).json()["results"] == 2
        assert api.get(RANGES, {"region": "us-other"}).json()["results"] == 0
        (found,) = api.get(RANGES, {"range": "2001:DB8:5000:100:0::"}).json()["data"]
        assert found["prefix"] == 56
        assert errors(api.get(RANGES, {"range": "2001:db8:5000::/64"})) == {"X-Filter": "range is not valid"}
        assert errors(api.get(RANGES, {"prefix": 64})) == {"X-Filter": "Cannot filter on prefix"}
        theirs = client_for(stranger)
        assert theirs.get(RANGES).json()["data"] == []
        assert theirs.get(f"{RANGES}/2001:db8:5000::").status_code == 404

    def test_grants_are_the_instances(self, api, client_for, restricted, instance, routed):
        allocate(api, instance)
        theirs = client_for(restricted)
        assert theirs.get(RANGES).json()["results"] == 0
        assert theirs.get(f"{RANGES}/2001:db8:5000::").status_code == 404
        assert set(errors(allocate(theirs, instance))) == {"compute_id"}
        grant = GrantFactory(user=restricted, entity_id=instance.pk)
        assert theirs.get(RANGES).json()["results"] == 1
        assert theirs.get(f"{RANGES}/2001:db8:5000::").status_code == 200
        assert theirs.delete(f"{RANGES}/2001:db8:5000::").status_code == 403
        assert allocate(theirs, instance).status_code == 403
        grant.permissions = "read_write"
        grant.save()
        assert allocate(theirs, instance).status_code == 200
        assert theirs.delete(f"{RANGES}/2001:db8:5000::").status_code == 200

    def test_a_shared_range_is_shown_to_users_who_see_one_of_its_instances(
        self, api, client_for, restricted, instance, world, routed
    ):
        """The range is found by its own path too, because `ipv6.global` of the sharing instance names it."""
        allocate(api, instance)
        sharing = world.offline(label="sharing")
        shared = {"compute_id": sharing.pk, "ips": ["2001:db8:5000::/64"]}
        assert api.post("/v4/networking/ips/share", shared).status_code == 200
        GrantFactory(user=restricted, entity_id=sharing.pk, permissions="read_write")
        theirs = client_for(restricted)
        (named,) = theirs.get(f"/v4/compute/instances/{sharing.pk}/ips").json()["ipv6"]["global"]
        assert theirs.get(RANGES).json()["data"] == [named]
        found = theirs.get(f"{RANGES}/{named['range']}").json()
        assert (found["is_bgp"], found["computes"]) == (True, [sharing.pk])
        assert theirs.delete(f"{RANGES}/{named['range']}").status_code == 403
        moved = {"address": "2001:db8:5000::/64", "compute_id": sharing.pk}
        refused = theirs.post("/v4/networking/ips/assign", {"region": "us-test", "assignments": [moved]})
        assert set(errors(refused)) == {"assignments[0].address"}

    def test_scopes(self, client_for, owner, instance, routed):
        reads = client_for(owner, "ips:read_only")
        assert reads.get(RANGES).status_code == reads.get(POOLS).status_code == 200
        assert reads.get(f"{RANGES}/2001:db8::").status_code == 404
        assert allocate(client_for(owner, "ips:read_write"), instance).status_code == 200
        assert allocate(client_for(owner, "ips:read_only computes:read_write"), instance).status_code == 401
        assert client_for(owner, "computes:read_write").get(RANGES).status_code == 401


class TestEnding:
    def test_a_deleted_one_is_given_out_again(self, api, instance, routed):
        allocate(api, instance)
        assert api.delete(f"{RANGES}/2001:db8:5000::%2F64").json() == {}
        assert not IPv6Range.objects.exists()
        assert Event.objects.filter(action="compute_deleteip", secondary_id="2001:db8:5000::/64").count() == 1
        assert allocate(api, instance).json()["range"] == "2001:db8:5000::/64"

    def test_ranges_end_with_their_instance(self, api, instance, routed):
        allocate(api, instance)
        remove(instance)
        assert not IPv6Range.objects.exists()


class TestPools:
    def give(self, world, **fields) -> IPv6Range:
        block = IPv6Range(account=world.account, region=world.region, **fields)
        give_pool(block, world.actor)
        return block

    def test_are_listed_and_are_no_ranges(self, api, instance, routed, world):
        self.give(world, instance=instance)
        self.give(world)
        assert api.get(POOLS).json()["data"] == [
            {"range": "2001:db8:5000::", "prefix": 116, "region": "us-test", "route_target": slaac(instance)},
            {"range": "2001:db8:5000::1000", "prefix": 116, "region": "us-test", "route_target": None},
        ]
        assert api.get(RANGES).json()["data"] == []
        assert api.get(f"{RANGES}/2001:db8:5000::").status_code == 404
        assert api.get(POOLS, x_filter={"region": "us-other"}).json()["results"] == 0
        assert len(api.get(f"/v4/compute/instances/{instance.pk}/ips").json()["ipv6"]["global"]) == 1

    def test_are_of_the_instances_own_account_and_region(self, world, routed, stranger):
        theirs = InstanceFactory(account=stranger.account, region=RegionFactory(id="us-other"))
        with pytest.raises(Invalid) as refused:
            self.give(world, instance=theirs)
        assert [problem.field for problem in refused.value.problems] == ["instance", "instance"]
