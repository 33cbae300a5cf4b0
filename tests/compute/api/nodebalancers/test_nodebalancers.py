"""The API of load balancers, their configs and their nodes."""

import pytest
from cryptography.x509 import DNSName, IssuerAlternativeName

from accounts.models import Event, Grant
from compute.models import (
    Address,
    AddressPool,
    Instance,
    NodeBalancer,
    NodeBalancerConfig,
    NodeBalancerNode,
)
from compute.services.nodebalancers.configs import key_of
from compute.services.removal import remove
from regions.models import Region
from tests.certificates import bent, certificate, huge_key, new_key, pem
from tests.client import errors
from tests.factories import GlobalGrantsFactory, GrantFactory, InstanceFactory

pytestmark = pytest.mark.django_db

BALANCERS = "/v4/nodebalancers"
NODE = {"label": "web-1", "address": "10.0.0.2:80"}
KEY, OTHER_KEY = new_key(), new_key()
RSA_KEY, SHORT_KEY = new_key(2048), new_key(1024)
RSA, RSA_PSS = "2a864886f70d0101010500", "2a864886f70d01010a3000"
ISSUER = IssuerAlternativeName([DNSName("www.example.com")])
CERT = certificate(KEY)
TLS = {"protocol": "https", "port": 443, "ssl_cert": CERT, "ssl_key": pem(KEY)}


@pytest.fixture
def api(client_for, owner, world):
    Region.objects.filter(pk="us-test").update(capabilities=["Computes", "NodeBalancers"])
    return client_for(owner)


@pytest.fixture
def instance(world) -> Instance:
    """An instance with the private address 10.0.0.2."""
    made = world.create(label="web", private_ip=True)
    made.jobs.all().delete()
    Instance.objects.filter(pk=made.pk).update(status="offline")
    Event.objects.all().delete()
    return Instance.objects.get(pk=made.pk)


@pytest.fixture
def balancer(api) -> dict:
    made = api.post(BALANCERS, {"region": "us-test", "label": "edge"}).json()
    Event.objects.all().delete()
    return made


@pytest.fixture
def config(api, balancer) -> dict:
    made = api.post(f"{BALANCERS}/{balancer['id']}/configs").json()
    Event.objects.all().delete()
    return made


@pytest.fixture
def node(api, config, instance) -> dict:
    made = api.post(f"{at(config)}/nodes", NODE).json()
    Event.objects.all().delete()
    return made


def at(shown: dict) -> str:
    """Return the path of a config or of a node."""
    path = f"{BALANCERS}/{shown['nodebalancer_id']}/configs/"
    return f"{path}{shown['config_id']}/nodes/{shown['id']}" if "config_id" in shown else f"{path}{shown['id']}"


def version(shown: dict) -> int:
    return NodeBalancer.objects.get(pk=shown.get("nodebalancer_id", shown["id"])).version


def recorded_actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestABalancer:
    def test_has_an_address_of_its_own_and_a_name_that_begins_with_it(self, api, settings):
        settings.PLATFORM_DOMAIN = "ip.cloud.example"
        shown = api.post(BALANCERS, {"region": "us-test"}).json()
        assert shown.pop("created") == shown.pop("updated")
        assert shown == {
            "id": shown["id"],
            "label": f"balancer{shown['id']}",
            "region": "us-test",
            "hostname": "198-18-0-2.ip.cloud.example",
            "ipv4": "198.18.0.2",
            "ipv6": f"2001:db8:77:0:6e62::{shown['id']:x}",
            "client_conn_throttle": 0,
            "transfer": {"total": None, "out": None, "in": None},
            "tags": [],
        }
        address = Address.objects.get(address="198.18.0.2")
        assert (address.nodebalancer_id, address.instance_id) == (shown["id"], None)
        assert recorded_actions() == ["nodebalancer_create"]

    def test_does_not_share_its_address_with_instances_or_others(self, api, world):
        taken = {api.post(BALANCERS, {"region": "us-test"}).json()["ipv4"], world.create().ipv4[0]}
        taken |= {api.post(BALANCERS, {"region": "us-test"}).json()["ipv4"]}
        assert len(taken) == 3
        assert Address.objects.filter(instance=None, nodebalancer=None, public=True).count() == 55

    def test_needs_a_region_that_has_balancers_and_addresses(self, api, world):
        assert errors(api.post(BALANCERS, {})) == {"region": "region is required"}
        assert errors(api.post(BALANCERS, {"region": "us-nowhere"})) == {"region": "region is not valid"}
        Address.objects.filter(public=True).update(instance=world.create())
        refused = errors(api.post(BALANCERS, {"region": "us-test"}))
        assert refused == {"region": "No public addresses are left in this region."}
        Region.objects.filter(pk="us-test").update(capabilities=["Computes"])
        refused = errors(api.post(BALANCERS, {"region": "us-test"}))
        assert refused == {"region": "This region does not offer NodeBalancers."}
        assert not NodeBalancer.objects.exists()

    def test_has_no_ipv6_where_the_region_has_none(self, api):
        AddressPool.objects.filter(kind="slaac").delete()
        assert api.post(BALANCERS, {"region": "us-test"}).json()["ipv6"] is None

    @pytest.mark.parametrize(
        ("field", "value"),
        [("label", "ab"), ("label", "x" * 33), ("label", "a b c"), ("label", "ab\nc"),
         ("client_conn_throttle", 21), ("client_conn_throttle", -1), ("client_conn_throttle", "5"),
         ("configs", [7]), ("tags", [1])],
    )  # fmt: skip
    def test_refuses_values_out_of_bounds(self, field, value, api):
        refused = api.post(BALANCERS, {"region": "us-test", field: value})
        assert refused.status_code == 400
        assert {name.partition("[")[0] for name in errors(refused)} == {field}

    def test_has_a_label_that_is_unique_on_the_account(self, api, balancer):
        expected = {"label": "Label must be unique among your nodebalancers"}
        assert errors(api.post(BALANCERS, {"region": "us-test", "label": "edge"})) == expected
        other = api.post(BALANCERS, {"region": "us-test"}).json()
        assert errors(api.put(f"{BALANCERS}/{other['id']}", {"label": "edge"})) == expected

    def test_there_are_so_many_in_a_region(self, api, balancer, settings):
        settings.NODEBALANCERS = 1
        refused = errors(api.post(BALANCERS, {"region": "us-test"}))
        assert refused == {None: "An account has at most 1 nodebalancers in a region: ask support for more."}

    def test_is_changed_in_part_and_tells_of_it_once(self, api, balancer):
        address = f"{BALANCERS}/{balancer['id']}"
        changed = api.put(address, {**balancer, "client_conn_throttle": 7, "tags": ["red", "blue"]}).json()
        assert changed == {
            **balancer, "client_conn_throttle": 7, "tags": ["red", "blue"], "updated": changed["updated"],
        }  # fmt: skip
        assert api.put(address, changed).json() == changed
        assert recorded_actions() == ["nodebalancer_update"]
        assert version(balancer) == 2
        assert api.get(BALANCERS, x_filter={"tags": "red"}).json()["results"] == 1

    def test_gives_everything_back_when_it_goes(self, api, node, restricted):
        balancer = node["nodebalancer_id"]
        GrantFactory(user=restricted, entity_type="nodebalancer", entity_id=balancer)
        address = f"{BALANCERS}/{balancer}"
        api.put(address, {"tags": ["red"]})
        assert api.delete(address).json() == {}
        assert api.get(address).status_code == api.delete(address).status_code == 404
        assert not Address.objects.exclude(nodebalancer=None).exists()
        assert Address.objects.filter(instance=None, released__isnull=False).count() == 1
        assert not NodeBalancerNode.objects.exists()
        assert not Grant.objects.exists()
        assert recorded_actions()[-1] == "nodebalancer_delete"

    def test_is_there_for_its_account_alone(self, api, balancer, client_for, stranger):
        theirs = client_for(stranger)
        assert theirs.get(BALANCERS).json()["results"] == 0
        assert theirs.get(f"{BALANCERS}/{balancer['id']}").status_code == 404
        assert theirs.get(f"{BALANCERS}/{balancer['id']}/configs").status_code == 404

    def test_belongs_to_the_restricted_user_who_made_it(self, api, world, client_for):
        helper = GlobalGrantsFactory(user__account=world.account, add_nodebalancers=True).user
        theirs = client_for(helper)
        made = theirs.post(BALANCERS, {"region": "us-test"}).json()
        assert theirs.put(f"{BALANCERS}/{made['id']}", {"label": "mine"}).json()["label"] == "mine"
        assert theirs.put(f"{BALANCERS}/{made['id']}", {"tags": ["red"]}).status_code == 403
        assert theirs.post(BALANCERS, {"region": "us-test", "tags": ["red"]}).status_code == 403
        api.put(f"{BALANCERS}/{made['id']}", {"tags": ["red"]})
        assert theirs.put(f"{BALANCERS}/{made['id']}", {"tags": []}).status_code == 403

    def test_comes_with_configs_and_nodes_or_not_at_all(self, api, instance):
        configs = [{"port": 80, "nodes": [NODE]}, {"port": 81, "protocol": "tcp", "nodes": []}]
        made = api.post(BALANCERS, {"region": "us-test", "configs": configs}).json()
        assert recorded_actions() == [
            "nodebalancer_create",
            "nodebalancer_config_create",
            "nodebalancer_config_create",
        ]
        first, second = api.get(f"{BALANCERS}/{made['id']}/configs").json()["data"]
        assert (first["port"], second["protocol"]) == (80, "tcp")
        assert [each["label"] for each in api.get(f"{at(first)}/nodes").json()["data"]] == ["web-1"]

        wrong = [
            {"port": 80, "nodes": [{**NODE, "address": "10.0.0.77:80"}]},
            {"port": 80, "nodes": [NODE, {**NODE, "label": "web-2"}]},
            {"port": 82, "protocol": "https", "nodes": []},
        ]
        refused = errors(api.post(BALANCERS, {"region": "us-test", "configs": wrong}))
        assert set(refused) == {
            "configs[0].nodes[0].address", "configs[1].port", "configs[1].nodes[1].address", "configs[2].ssl_cert",
            "configs[2].ssl_key",
        }  # fmt: skip
        assert errors(api.post(BALANCERS, {"region": "us-test", "configs": [{"port": 80}]})) == {
            "configs[0].nodes": "nodes is required"
        }
        assert NodeBalancer.objects.count() == 1


class TestAConfig:
    def test_has_these_defaults(self, api, balancer):
        made = api.post(f"{BALANCERS}/{balancer['id']}/configs", {})
        assert made.json() == {
            "id": made.json()["id"],
            "nodebalancer_id": balancer["id"],
            "port": 80,
            "protocol": "http",
            "algorithm": "roundrobin",
            "stickiness": "none",
            "check": "none",
            "check_interval": 31,
            "check_timeout": 30,
            "check_attempts": 3,
            "check_path": "",
            "check_body": "",
            "check_passive": True,
            "proxy_protocol": "none",
            "cipher_suite": "recommended",
            "ssl_commonname": "",
            "ssl_fingerprint": "",
            "ssl_cert": None,
            "ssl_key": None,
            "nodes_status": {"up": 0, "down": 0},
        }
        event = Event.objects.get()
        assert (event.action, event.entity_id, event.secondary_type) == (
            "nodebalancer_config_create", balancer["id"], "nodebalancer_config",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("field", "value"),
        [("port", 0), ("port", 65536), ("protocol", "udp"), ("algorithm", "random"), ("stickiness", "cookie"),
         ("check", "tcp"), ("check_interval", 0), ("check_timeout", 31), ("check_timeout", 0),
         ("check_attempts", 0), ("check_attempts", 31), ("check_path", "/a b"), ("check_path", "/a\nb"),
         ("check_path", "/${HOME}"), ("check_body", "a\nb"), ("check_body", "x" * 256), ("check_passive", 1),
         ("proxy_protocol", "v3"), ("cipher_suite", "none")],
    )  # fmt: skip
    def test_refuses_values_out_of_bounds(self, field, value, api, config):
        for call, path in ((api.put, at(config)), (api.post, at(config).rpartition("/")[0])):
            refused = call(path, {"port": 8080, field: value})
            assert refused.status_code == 400
            assert set(errors(refused)) == {field}

    def test_is_the_only_one_on_its_port(self, api, config):
        path, expected = at(config).rpartition("/")[0], "Port must be unique among the configs of a nodebalancer"
        assert errors(api.post(path, {"port": 80})) == {"port": expected}
        other = api.post(path, {"port": 81}).json()
        assert errors(api.put(at(other), {"port": 80})) == {"port": expected}

    def test_needs_settings_that_go_together(self, api, config):
        assert set(errors(api.put(at(config), {"check": "http_body"}))) == {"check_body"}
        assert set(errors(api.put(at(config), {"protocol": "tcp", "stickiness": "http_cookie"}))) == {"stickiness"}
        assert api.put(at(config), {"check": "http_body", "check_body": "it's fine"}).status_code == 200

    def test_is_changed_in_part_and_tells_of_it_once(self, api, config):
        changed = api.put(at(config), {**config, "algorithm": "source"}).json()
        assert changed == {**config, "algorithm": "source"}
        assert api.put(at(config), changed).json() == changed == api.get(at(config)).json()
        assert recorded_actions() == ["nodebalancer_config_update"]
        assert version(config) == 3

    def test_counts_nodes_that_are_up_and_down(self, api, config, instance):
        for number, status in enumerate(("UP", "UP", "DOWN", "Unknown")):
            NodeBalancerNode.objects.create(
                config_id=config["id"], instance=instance, label=f"n-{number}", address=f"10.0.0.2:{number + 1}",
                status=status,
            )  # fmt: skip
        assert api.get(at(config)).json()["nodes_status"] == {"up": 2, "down": 1}
        api.put(at(config), {"check": "connection"})
        assert api.get(at(config)).json()["nodes_status"] == {"up": 2, "down": 1}
        api.put(at(config), {"check": "none"})
        assert api.get(at(config)).json()["nodes_status"] == {"up": 2, "down": 1}, "traffic tells as well"
        api.put(at(config), {"check_passive": False})
        assert api.get(at(config)).json()["nodes_status"] == {"up": 0, "down": 0}

    def test_goes_with_its_nodes(self, api, config, node):
        assert api.delete(at(config)).json() == {}
        assert api.delete(at(config)).status_code == api.get(f"{at(config)}/nodes").status_code == 404
        assert recorded_actions() == ["nodebalancer_config_delete"]
        assert not NodeBalancerNode.objects.exists()

    def test_is_found_under_its_own_balancer_alone(self, api, config):
        other = api.post(BALANCERS, {"region": "us-test"}).json()["id"]
        path = f"{BALANCERS}/{other}/configs/{config['id']}"
        for call in (api.get, api.put, api.delete):
            assert call(path).status_code == 404
        assert api.get(f"{path}/nodes").status_code == api.post(f"{path}/nodes", NODE).status_code == 404
        assert api.post(f"{path}/rebuild", {"nodes": []}).status_code == 404


class TestACertificate:
    @pytest.fixture
    def secured(self, api, config) -> dict:
        return api.put(at(config), TLS).json()

    def test_is_told_of_but_never_shown(self, api, secured):
        assert (secured["ssl_cert"], secured["ssl_key"]) == ("<REDACTED>", "<REDACTED>")
        assert secured["ssl_commonname"] == "www.example.com"
        pairs = secured["ssl_fingerprint"].split(":")
        assert len(pairs) == 32
        assert all(len(pair) == 2 and pair == pair.upper() for pair in pairs)
        row = NodeBalancerConfig.objects.get()
        assert b"PRIVATE" not in bytes(row.encrypted)
        assert key_of(row) == pem(KEY)
        assert row.ssl_cert == CERT

    def test_stays_when_the_answer_is_put_again(self, api, secured):
        assert api.put(at(secured), secured).json() == secured
        assert api.put(at(secured), {**TLS, "ssl_key": pem(KEY)}).json() == secured
        assert recorded_actions() == ["nodebalancer_config_update"]
        assert key_of(NodeBalancerConfig.objects.get()) == pem(KEY)

    def test_is_renewed_for_the_same_key(self, api, secured):
        renewed = api.put(at(secured), {"ssl_cert": certificate(KEY, "new.example.com")}).json()
        assert renewed["ssl_commonname"] == "new.example.com"
        assert renewed["ssl_fingerprint"] != secured["ssl_fingerprint"]

    def test_is_kept_no_longer_than_it_is_used(self, api, secured):
        plain = api.put(at(secured), {"protocol": "http"}).json()
        assert (plain["ssl_cert"], plain["ssl_key"], plain["ssl_commonname"]) == (None, None, "")
        row = NodeBalancerConfig.objects.get()
        assert (row.ssl_cert, row.encrypted) == (None, None)
        assert set(errors(api.put(at(secured), {"protocol": "https"}))) == {"ssl_cert", "ssl_key"}

    @pytest.mark.parametrize(
        ("wrong", "fields"),
        [
            ({"ssl_cert": None}, {"ssl_cert"}),
            ({"ssl_cert": "", "ssl_key": "<REDACTED>"}, {"ssl_cert", "ssl_key"}),
            ({"ssl_key": pem(OTHER_KEY)}, {"ssl_key"}),
            ({"ssl_key": pem(KEY, "a password")}, {"ssl_key"}),
            ({"ssl_key": pem(new_key(1024))}, {"ssl_key"}),
            ({"ssl_key": "nonsense"}, {"ssl_key"}),
            ({"ssl_cert": "nonsense", "ssl_key": "nonsense"}, {"ssl_cert", "ssl_key"}),
            ({"ssl_cert": CERT * 11}, {"ssl_cert"}),
            ({"ssl_cert": "x" * 100_001}, {"ssl_cert"}),
            ({"ssl_cert": CERT.replace("MII", "MIJ", 1)}, {"ssl_cert"}),
            ({"ssl_cert": certificate(OTHER_KEY) + CERT}, {"ssl_key"}),
            ({"ssl_cert": certificate(KEY, ca=SHORT_KEY) + certificate(SHORT_KEY, "ca")}, {"ssl_cert"}),
            ({"ssl_cert": certificate(KEY, "a\0b")}, {"ssl_cert"}),
            ({"ssl_cert": certificate(KEY, None, "a\0b")}, {"ssl_cert"}),
            ({"ssl_cert": bent(CERT, "a003020102", "a003020139")}, {"ssl_cert"}),
            ({"ssl_cert": bent(certificate(KEY, None, others=[ISSUER]), "551d12", "551d11")}, {"ssl_cert"}),
            ({"ssl_cert": bent(certificate(KEY, "a"), "0603550403", "0601550403")}, {"ssl_cert"}),
            ({"ssl_cert": bent(certificate(RSA_KEY), RSA, RSA_PSS), "ssl_key": pem(RSA_KEY)}, {"ssl_cert"}),
        ],
        ids=range(18),
    )
    def test_has_to_be_one_that_fits_its_key(self, wrong, fields, api, config):
        refused = api.put(at(config), {**TLS, **wrong})
        assert refused.status_code == 400
        assert set(errors(refused)) == fields
        assert "PRIVATE" not in refused.content.decode()

    def test_has_a_key_whose_length_is_looked_at_first(self, api, config):
        """Finding out that these factors are not primes would take too long."""
        refused = api.put(at(config), {**TLS, "ssl_key": pem(huge_key(20_000))})
        assert errors(refused)["ssl_key"].startswith("Keys are RSA of 2048 to 4096 bits")

    def test_may_have_a_chain_an_rsa_key_and_no_common_name(self, api, config):
        key = new_key(2048)
        chain = certificate(key, None, "san.example.com", ca=OTHER_KEY) + certificate(OTHER_KEY, "ca")
        shown = api.put(at(config), {**TLS, "ssl_cert": f"a note\n{chain}", "ssl_key": pem(key)}).json()
        assert shown["ssl_commonname"] == "san.example.com"
        assert NodeBalancerConfig.objects.get().ssl_cert == chain, "and nothing else of the text"


class TestANode:
    def test_is_a_private_address_of_a_compute(self, api, config, instance):
        made = api.post(f"{at(config)}/nodes", NODE)
        assert made.json() == {
            "id": made.json()["id"],
            "address": "10.0.0.2:80",
            "label": "web-1",
            "status": "Unknown",
            "weight": 50,
            "mode": "accept",
            "config_id": config["id"],
            "nodebalancer_id": config["nodebalancer_id"],
        }
        assert api.get(at(made.json())).json() == made.json()
        assert NodeBalancerNode.objects.get().instance == instance
        event = Event.objects.get()
        assert (event.action, event.entity_type, event.secondary_label) == (
            "nodebalancer_node_create", "nodebalancer", "web-1",
        )  # fmt: skip
        listed = api.get(f"/v4/compute/instances/{instance.pk}/nodebalancers").json()["data"]
        assert [each["id"] for each in listed] == [config["nodebalancer_id"]]

    @pytest.mark.parametrize(
        "address",
        ["10.0.0.2", "10.0.0.2:", "10.0.0.2:0", "10.0.0.2:65536", "10.0.0.2:٨٠", "10.0.0.3:80", "198.18.0.2:80",
         "[::1]:80", "web:80", "10.0.0.2:80\nserver x", ":80"],
    )  # fmt: skip
    def test_has_to_be_one(self, address, api, config, instance):
        assert set(errors(api.post(f"{at(config)}/nodes", {**NODE, "address": address}))) == {"address"}

    def test_cannot_be_in_another_region_or_account(self, api, config, instance, stranger):
        other = InstanceFactory(account=stranger.account, region=instance.region, host=instance.host)
        Address.objects.filter(address="10.0.0.9").update(instance=other)
        assert set(errors(api.post(f"{at(config)}/nodes", {**NODE, "address": "10.0.0.9:80"}))) == {"address"}
        Region.objects.create(id="us-other", country="us")
        NodeBalancer.objects.update(region="us-other")
        assert set(errors(api.post(f"{at(config)}/nodes", NODE))) == {"address"}

    def test_is_of_a_compute_that_the_user_sees(self, api, config, instance, world, client_for):
        helper = GlobalGrantsFactory(user__account=world.account).user
        ref = {"user": helper, "permissions": "read_write"}
        GrantFactory(entity_type="nodebalancer", entity_id=config["nodebalancer_id"], **ref)
        theirs = client_for(helper)
        assert set(errors(theirs.post(f"{at(config)}/nodes", NODE))) == {"address"}
        GrantFactory(user=helper, entity_id=instance.pk)
        assert theirs.post(f"{at(config)}/nodes", NODE).status_code == 200

    @pytest.mark.parametrize(
        ("field", "value"),
        [("label", "ab"), ("label", "x" * 33), ("label", "a b c"), ("weight", 0), ("weight", 256),
         ("mode", "accepting"), ("address", 5)],
    )  # fmt: skip
    def test_refuses_values_out_of_bounds(self, field, value, api, node):
        for call, path in ((api.put, at(node)), (api.post, at(node).rpartition("/")[0])):
            assert set(errors(call(path, {**NODE, "address": "10.0.0.2:81", field: value}))) == {field}
        assert set(errors(api.post(at(node).rpartition("/")[0], {}))) == {"label", "address"}

    def test_is_at_an_address_of_the_regions_private_network(self, api, node):
        """The world's network is 10.0.0.0/24. The address must be a compute's in that network."""
        path = at(node)
        assert errors(api.put(path, {"address": "192.168.128.9:80"})) == {"address": "Must begin with 10.0.0"}
        (reason,) = errors(api.put(path, {"address": "10.0.0.250:80"})).values()
        assert "of a compute of the account" in reason

    def test_is_there_once(self, api, node):
        path, expected = at(node).rpartition("/")[0], "Address must be unique among the nodes of a config"
        assert errors(api.post(path, {**NODE, "address": "10.0.0.2:080"})) == {"address": expected}
        other = api.post(path, {**NODE, "address": "10.0.0.2:81"}).json()
        assert errors(api.put(at(other), {"address": "10.0.0.2:80"})) == {"address": expected}

    def test_is_changed_in_part_and_tells_of_it_once(self, api, node):
        NodeBalancerNode.objects.update(status="UP")
        changed = api.put(at(node), {**node, "mode": "drain", "weight": 255}).json()
        assert changed == {**node, "mode": "drain", "weight": 255, "status": "UP"}
        assert api.put(at(node), changed).json() == changed
        assert recorded_actions() == ["nodebalancer_node_update"]
        assert api.put(at(node), {"address": "10.0.0.2:8080"}).json()["status"] == "Unknown"
        assert version(node) == 5

    def test_goes(self, api, node):
        assert api.delete(at(node)).json() == {}
        assert api.delete(at(node)).status_code == api.get(at(node)).status_code == 404
        assert recorded_actions() == ["nodebalancer_node_delete"]

    def test_goes_with_its_compute(self, api, node, instance):
        before = version(node)
        remove(instance)
        assert api.get(at(node)).status_code == 404
        event = Event.objects.get(action="nodebalancer_node_delete")
        assert (event.username, event.message) == ("", "Its address 10.0.0.2:80 was given back.")
        assert version(node) == before + 1

    def test_goes_with_its_address_and_no_other_does(self, api, node, instance):
        other = api.post(at(node).rpartition("/")[0], {**NODE, "address": "10.0.0.2:81"}).json()
        NodeBalancerNode.objects.filter(pk=other["id"]).update(address="10.0.0.20:80")
        before = version(node)
        assert api.delete(f"/v4/compute/instances/{instance.pk}/ips/10.0.0.2").json() == {}
        assert [each.pk for each in NodeBalancerNode.objects.all()] == [other["id"]]
        assert version(node) == before + 1

    def test_needs_the_scope_that_the_contract_says(self, node, client_for, owner):
        reads = client_for(owner, "nodebalancers:read_only")
        assert reads.get(at(node).rpartition("/")[0]).status_code == 200
        assert reads.get(at(node)).status_code == 401

    def test_there_are_only_so_many(self, api, node, instance):
        NodeBalancerNode.objects.bulk_create(
            NodeBalancerNode(config_id=node["config_id"], instance=instance, label="more", address=f"10.0.0.2:{n}")
            for n in range(1000, 1254)
        )
        refused = api.post(at(node).rpartition("/")[0], {**NODE, "address": "10.0.0.2:99"})
        assert errors(refused) == {None: "A config has at most 255 nodes."}


class TestARebuild:
    def test_replaces_the_config_and_its_nodes(self, api, config, node, instance):
        api.put(at(config), {"algorithm": "source", "check": "connection"})
        gone = api.post(f"{at(config)}/nodes", {**NODE, "address": "10.0.0.2:81"}).json()
        Event.objects.all().delete()
        nodes = [{"id": node["id"], "weight": 9}, {"label": "new", "address": "10.0.0.2:82", "mode": "backup"}]
        rebuilt = api.post(f"{at(config)}/rebuild", {"port": 8080, "stickiness": "table", "nodes": nodes})
        assert rebuilt.json() == {**config, "port": 8080, "stickiness": "table"}
        kept, new = api.get(f"{at(config)}/nodes").json()["data"]
        assert kept == {**node, "weight": 9}
        assert (new["label"], new["mode"], new["weight"]) == ("new", "backup", 50)
        assert api.get(at(gone)).status_code == 404
        assert recorded_actions() == ["nodebalancer_config_update"]

    def test_knows_nothing_of_nodes_that_it_has_nobody_look_at(self, api, config, node):
        NodeBalancerNode.objects.update(status="UP")
        body = {"check_passive": False, "nodes": [{"id": node["id"]}]}
        rebuilt = api.post(f"{at(config)}/rebuild", body).json()
        assert rebuilt["nodes_status"] == {"up": 0, "down": 0}

    def test_lets_nodes_swap_their_addresses(self, api, config, node):
        other = api.post(f"{at(config)}/nodes", {**NODE, "address": "10.0.0.2:81"}).json()
        swapped = [{"id": node["id"], "address": "10.0.0.2:81"}, {"id": other["id"], "address": "10.0.0.2:80"}]
        assert api.post(f"{at(config)}/rebuild", {"nodes": swapped}).status_code == 200
        shown = {each["id"]: each["address"] for each in api.get(f"{at(config)}/nodes").json()["data"]}
        assert shown == {each["id"]: each["address"] for each in swapped}

    def test_is_done_whole_or_not_at_all(self, api, config, node):
        nodes = [{"id": node["id"] + 999}, {"label": "new"}, {"label": "new", "address": "10.0.0.77:80"}]
        refused = errors(api.post(f"{at(config)}/rebuild", {"port": 1, "check": "http_body", "nodes": nodes}))
        assert {"check_body", "nodes[0].id", "nodes[1].address", "nodes[2].address"} <= set(refused)
        assert set(errors(api.post(f"{at(config)}/rebuild", {}))) == {"nodes"}
        twice = [{"id": node["id"]}, {"id": node["id"]}]
        assert "nodes" in errors(api.post(f"{at(config)}/rebuild", {"nodes": twice}))
        assert api.get(at(config)).json() == config
        assert api.get(at(node)).json() == node
        assert recorded_actions() == []

    def test_keeps_the_certificate_that_nobody_can_send_again(self, api, config):
        secured = api.put(at(config), TLS).json()
        body = {"protocol": "https", "port": 443, "nodes": []}
        assert api.post(f"{at(config)}/rebuild", body).json() == secured
        assert key_of(NodeBalancerConfig.objects.get()) == pem(KEY)

    def test_needs_both_grants(self, api, config, world, client_for):
        ref = {"entity_type": "nodebalancer", "entity_id": config["nodebalancer_id"]}
        adding = GlobalGrantsFactory(user__account=world.account, add_nodebalancers=True).user
        assert client_for(adding).post(f"{at(config)}/rebuild", {"nodes": []}).status_code == 404
        GrantFactory(user=adding, **ref)
        assert client_for(adding).post(f"{at(config)}/rebuild", {"nodes": []}).status_code == 403
        writing = GlobalGrantsFactory(user__account=world.account).user
        GrantFactory(user=writing, permissions="read_write", **ref)
        assert client_for(writing).post(f"{at(config)}/rebuild", {"nodes": []}).status_code == 403
