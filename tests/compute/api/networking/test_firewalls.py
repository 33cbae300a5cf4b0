"""The API of firewalls, their rules and their devices."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, Grant
from compute.models import Firewall, FirewallDevice, Instance, PacketFilter
from compute.services.networking.firewalls import delivery
from compute.services.removal import remove
from compute.worker.networking.firewall_specs import firewall_spec
from tags.models import Tag, Tagging
from tests.client import errors
from tests.factories import FirewallFactory, GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db

FIREWALLS = "/v4/networking/firewalls"
RULE = {"protocol": "TCP", "action": "ACCEPT", "addresses": {"ipv4": ["0.0.0.0/0"]}}
POLICIES = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
FULL_RULE = {
    **RULE,
    "ports": "22, 80-90",
    "addresses": {"ipv4": ["198.51.100.0/24", "203.0.113.7/32"], "ipv6": ["2001:DB8::/32"]},
    "label": "ssh and web",
    "description": "from the office",
}


def body(**fields) -> dict:
    return {"label": "web-1", "rules": POLICIES, **fields}


def with_rules(*inbound: dict, outbound: tuple[dict, ...] = ()) -> dict:
    return body(rules={**POLICIES, "inbound": list(inbound), "outbound": list(outbound)})


def firewall(world, **fields) -> Firewall:
    return FirewallFactory(account=world.account, **fields)


def path(row: Firewall, rest: str = "") -> str:
    return f"{FIREWALLS}/{row.pk}{rest}"


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestCreating:
    def test_a_firewall_needs_only_policies(self, api):
        made = api.post(FIREWALLS, body())
        assert made.status_code == 200
        assert {name: made.json()[name] for name in ("label", "status", "rules", "tags")} == {
            "label": "web-1",
            "status": "enabled",
            "rules": {"inbound": [], "outbound": [], **POLICIES},
            "tags": [],
        }
        assert api.get(f"{FIREWALLS}/{made.json()['id']}").json() == made.json()
        assert actions() == ["firewall_create"]

    def test_rules_stay_as_they_are_written(self, api):
        made = api.post(FIREWALLS, with_rules(FULL_RULE, RULE, outbound=(RULE,))).json()
        assert made["rules"] == {"inbound": [FULL_RULE, RULE], "outbound": [RULE], **POLICIES}

    def test_empty_parts_of_a_rule_are_left_out(self, api):
        given = {**RULE, "protocol": "ICMP", "ports": "", "addresses": {"ipv4": None, "ipv6": ["::/0"]}}
        made = api.post(FIREWALLS, body(rules={**POLICIES, "inbound": [given], "outbound": None})).json()
        assert made["rules"]["inbound"] == [
            {"protocol": "ICMP", "action": "ACCEPT", "addresses": {"ipv6": ["::/0"]}}
        ]

    @pytest.mark.parametrize("direction", ["inbound", "outbound"])
    def test_null_in_place_of_a_list_is_shown_as_null(self, direction, api):
        made = api.post(FIREWALLS, body(rules={**POLICIES, direction: None})).json()
        other = {"inbound": "outbound", "outbound": "inbound"}[direction]
        assert made["rules"] == {**POLICIES, direction: None, other: []}
        address = f"{FIREWALLS}/{made['id']}/rules"
        assert api.get(address).json() == made["rules"]
        assert api.get(FIREWALLS).json()["data"][0]["rules"] == made["rules"]
        assert api.put(address, {direction: [RULE]}).json()[direction] == [RULE]
        assert api.put(address, {direction: None}).json()[direction] is None
        assert api.put(address, {direction: []}).json()[direction] == []

    def test_rules_that_are_null_are_none_for_the_host(self, api, instance, world):
        devices = {"computes": [instance.pk]}
        api.post(FIREWALLS, body(rules={**POLICIES, "inbound": None, "outbound": None}, devices=devices))
        rules = firewall_spec(delivery.read(instance.pk)).rules
        assert (rules.inbound, rules.outbound, rules.inbound_policy) == ((), (), "drop")

    def test_on_instances(self, api, instance, world):
        other = world.create(label="another")
        Event.objects.all().delete()
        made = api.post(FIREWALLS, body(devices={"computes": [other.pk, instance.pk, other.pk]})).json()
        devices = api.get(f"{FIREWALLS}/{made['id']}/devices").json()["data"]
        assert [each["entity"]["id"] for each in devices] == sorted([instance.pk, other.pk])
        assert actions() == ["firewall_create", "firewall_device_add", "firewall_device_add"]
        assert all(row.pending for row in PacketFilter.objects.all())
        assert PacketFilter.objects.count() == 2

    def test_on_any_number_of_instances_takes_as_many_queries(self, api, world):
        made = [world.create(label=f"one-{n}").pk for n in range(4)]
        counts = []
        for label, computes in (("warm", []), ("web-1", made[:1]), ("web-2", made[1:])):
            with CaptureQueriesContext(connection) as queries:
                assert api.post(FIREWALLS, body(label=label, devices={"computes": computes})).status_code == 200
            counts.append(len(queries))
        assert counts[1] == counts[2]

    def test_with_tags(self, api):
        made = api.post(FIREWALLS, body(tags=["edge", "prod"])).json()
        assert made["tags"] == ["edge", "prod"]
        assert set(Tag.objects.values_list("label", flat=True)) == {"edge", "prod"}
        assert api.get(FIREWALLS, x_filter={"tags": "edge"}).json()["results"] == 1

    def test_its_tags_are_the_accounts_but_list_no_firewall(self, api):
        """The contract's lists of tagged objects have four kinds, and firewalls are none of them."""
        made = api.post(FIREWALLS, body(tags=["edge"])).json()
        listed = api.get("/v4/tags/edge").json()
        assert (listed["data"], listed["results"]) == ([], 0)
        assert api.delete("/v4/tags/edge").status_code == 200
        assert api.get(f"{FIREWALLS}/{made['id']}").json()["tags"] == []

    @pytest.mark.parametrize("label", ["web", "A.b-c_d", "x" * 32, "a-_.b", "z99", "web-"])
    def test_labels_that_are_fine(self, label, api):
        assert api.post(FIREWALLS, body(label=label)).status_code == 200

    @pytest.mark.parametrize(
        "label", ["ab", "x" * 33, "1ab", "-ab", "a--b", "a__b", "a..b", "a b", "åbc", "ab\n", "web!", ""]
    )
    def test_labels_that_are_not(self, label, api):
        assert set(errors(api.post(FIREWALLS, body(label=label)))) == {"label"}
        assert not Firewall.objects.exists()

    def test_a_label_that_is_taken(self, api, world, stranger):
        firewall(world, label="web-1")
        assert errors(api.post(FIREWALLS, body())) == {"label": "Label must be unique among your Cloud Firewalls"}
        FirewallFactory(account=stranger.account, label="web-2")
        assert api.post(FIREWALLS, body(label="web-2")).status_code == 200

    def test_nothing_reports_all_that_is_required(self, api):
        assert errors(api.post(FIREWALLS, {})) == {"label": "label is required", "rules": "rules is required"}
        assert errors(api.post(FIREWALLS, body(rules={}))) == {
            "rules.inbound_policy": "rules.inbound_policy is required",
            "rules.outbound_policy": "rules.outbound_policy is required",
        }
        assert set(errors(api.post(FIREWALLS, with_rules({})))) == {
            f"rules.inbound[0].{name}" for name in ("protocol", "action", "addresses")
        }

    def test_all_errors_are_reported_together(self, api, instance):
        wrong = {**body(tags=["x"], devices={"computes": [999999]}), **with_rules({**RULE, "ports": "x"})}
        wrong = {**wrong, "tags": ["x"], "devices": {"computes": [999999]}}
        assert set(errors(api.post(FIREWALLS, wrong))) == {
            "tags[0]", "devices.computes[0]", "rules.inbound[0].ports",
        }  # fmt: skip
        assert not Firewall.objects.exists()

    def test_on_an_instance_that_has_one(self, api, instance, world):
        firewall(world, on=instance, status="disabled")
        assert api.post(FIREWALLS, body(devices={"computes": [instance.pk]})).status_code == 200
        refused = api.post(FIREWALLS, body(label="web-2", devices={"computes": [instance.pk]}))
        assert errors(refused) == {"devices.computes[0]": "The compute has an enabled firewall already."}

    def test_on_an_instance_that_is_about_to_go(self, api, instance):
        Instance.objects.update(status="deleting")
        refused = api.post(FIREWALLS, body(devices={"computes": [instance.pk]}))
        assert errors(refused) == {None: "Compute busy."}

    def test_on_an_instance_of_another_account(self, client_for, stranger, instance):
        refused = client_for(stranger).post(FIREWALLS, body(devices={"computes": [instance.pk]}))
        assert errors(refused) == {"devices.computes[0]": f"{instance.pk} is not valid"}


PORTS_FINE = [
    "1", "65535", "22,80", "22, 80", "1-2", "1-65535", "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29",
    "1-2,3-4,5-6,7-8,9-10,11-12,13-14,15", "80,80", "20-30,25-35",
]  # fmt: skip
PORTS_WRONG = [
    "0", "65536", "080", "-1", "1-", "-", ",", "22,", ",22", "22,,80", "22 ,80", "22,  80", "2-1", "2-2", "1-2-3",
    "ssh", "22;80", "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31", "1-2,3-4,5-6,7-8,9-10,11-12,13-14,15-16",
    "٢٢", "22\n80", "99999999999999999999",
]  # fmt: skip
NETWORKS_WRONG = {
    "ipv4": [
        "198.51.100.7", "198.51.100.0/33", "198.51.100.0/", "198.51.100.0/255.255.255.0", "0.0.0.0/00", "all", "",
        "2001:db8::/32", "198.51.100.256/32", "198.51.100/24", "010.0.0.0/8", "10.0.0.0 /8", "x" * 500,
    ],
    "ipv6": [
        "2001:db8::", "2001:db8::/129", "2001:db8::/032", "198.51.100.0/24", "fe80::1%eth0/64", ":::/0", "all", "",
    ],
}  # fmt: skip


class TestRules:
    @pytest.mark.parametrize("ports", PORTS_FINE)
    @pytest.mark.parametrize("protocol", ["TCP", "UDP"])
    def test_ports_that_are_fine(self, ports, protocol, api):
        assert api.post(FIREWALLS, with_rules({**RULE, "protocol": protocol, "ports": ports})).status_code == 200

    @pytest.mark.parametrize("ports", PORTS_WRONG)
    def test_ports_that_are_not(self, ports, api):
        refused = api.post(FIREWALLS, with_rules(RULE, {**RULE, "ports": ports}))
        assert set(errors(refused)) == {"rules.inbound[1].ports"}

    @pytest.mark.parametrize("protocol", ["ICMP", "IPENCAP"])
    def test_protocols_without_ports(self, protocol, api):
        rule = {**RULE, "protocol": protocol}
        refused = api.post(FIREWALLS, with_rules({**rule, "ports": "22"}))
        assert errors(refused) == {"rules.inbound[0].ports": f"{protocol} has no ports."}
        assert api.post(FIREWALLS, with_rules(rule)).status_code == 200

    @pytest.mark.parametrize(
        "networks",
        [
            {"ipv4": ["0.0.0.0/0", "10.0.0.1/8"]},
            {"ipv6": ["::/0", "2001:DB8:0:0::7/64", "::ffff:10.0.0.1/128"]},
            {"ipv4": ["198.51.100.7/32"] * 128, "ipv6": ["2001:db8::/32"] * 127},
        ],
    )
    def test_networks_that_are_fine(self, networks, api):
        made = api.post(FIREWALLS, with_rules({**RULE, "addresses": networks}))
        assert made.json()["rules"]["inbound"][0]["addresses"] == networks

    @pytest.mark.parametrize(
        ("family", "network"), [(f, n) for f, all_of in NETWORKS_WRONG.items() for n in all_of]
    )
    def test_networks_that_are_not(self, family, network, api):
        refused = api.post(FIREWALLS, with_rules({**RULE, "addresses": {family: [network]}}))
        assert set(errors(refused)) == {f"rules.inbound[0].addresses.{family}[0]"}

    def test_more_addresses_than_a_rule_may_have(self, api):
        many = {"ipv4": ["198.51.100.7/32"] * 128, "ipv6": ["2001:db8::/32"] * 128}
        refused = api.post(FIREWALLS, with_rules({**RULE, "addresses": many}))
        reason = "A rule has at most 255 addresses, IPv4 and IPv6 together."
        assert errors(refused) == {"rules.inbound[0].addresses": reason}

    def test_a_rule_about_nobody(self, api):
        for nobody in ({}, {"ipv4": []}, {"ipv4": None, "ipv6": []}):
            refused = api.post(FIREWALLS, with_rules({**RULE, "addresses": nobody}))
            assert set(errors(refused)) == {"rules.inbound[0].addresses"}

    def test_twenty_five_of_them_and_one_more(self, api):
        thirteen = tuple([RULE] * 13)
        assert api.post(FIREWALLS, with_rules(*thirteen[1:], outbound=thirteen)).status_code == 200
        refused = api.post(FIREWALLS, {**with_rules(*thirteen, outbound=thirteen), "label": "web-2"})
        reason = "A firewall has at most 25 rules, inbound and outbound together."
        assert errors(refused) == {"rules.inbound": reason}
        refused = api.post(FIREWALLS, {**with_rules(outbound=thirteen * 2), "label": "web-2"})
        assert errors(refused) == {"rules.outbound": "rules.outbound must be at most 25 items"}

    def test_lists_that_are_too_long_have_one_problem_each(self, api):
        """A list that is too long has one problem. Its items are not checked, because there may be ten
        thousand."""
        wrong = with_rules({**RULE, "addresses": {"ipv4": ["x"] * 256, "ipv6": ["x"] * 256}})
        assert errors(api.post(FIREWALLS, wrong)) == {
            "rules.inbound[0].addresses.ipv4": "addresses.ipv4 must be at most 255 items",
            "rules.inbound[0].addresses.ipv6": "addresses.ipv6 must be at most 255 items",
        }
        assert errors(api.post(FIREWALLS, with_rules(*[{}] * 26))) == {
            "rules.inbound": "rules.inbound must be at most 25 items"
        }

    @pytest.mark.parametrize("rule", [None, "x", []])
    def test_an_invalid_rule_is_refused_at_its_index(self, rule, api):
        refused = api.post(FIREWALLS, with_rules(RULE, rule))
        assert errors(refused) == {"rules.inbound[1]": "rules.inbound is not valid"}

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("protocol", "GRE"), ("protocol", "tcp"), ("action", "REJECT"), ("label", "ab"), ("label", "x" * 33),
            ("description", ""), ("description", "x" * 101), ("addresses", []), ("ports", 22), ("ports", ["22"]),
            ("protocol", None),
        ],
    )  # fmt: skip
    def test_fields_that_are_not_valid(self, field, value, api):
        refused = api.post(FIREWALLS, with_rules({**RULE, field: value}))
        assert set(errors(refused)) == {f"rules.inbound[0].{field}"}

    def test_policies_that_are_not_valid(self, api):
        refused = api.post(FIREWALLS, body(rules={"inbound_policy": "REJECT", "outbound_policy": "drop"}))
        assert set(errors(refused)) == {"rules.inbound_policy", "rules.outbound_policy"}


class TestReplacingRules:
    def test_each_list_as_a_whole(self, api, world):
        row = firewall(world)
        put = api.put(path(row, "/rules"), {"inbound": [FULL_RULE, RULE], "inbound_policy": "DROP"})
        expected = {"inbound": [FULL_RULE, RULE], "outbound": [], **POLICIES}
        assert put.json() == api.get(path(row, "/rules")).json() == api.get(path(row)).json()["rules"] == expected
        assert api.put(path(row, "/rules"), {"inbound": [RULE], "outbound": [FULL_RULE]}).json() == {
            "inbound": [RULE], "outbound": [FULL_RULE], **POLICIES,
        }  # fmt: skip
        assert actions() == ["firewall_update"] * 2

    def test_with_the_answer_of_get_changes_nothing(self, api, world):
        row = firewall(world, rules={"inbound": [FULL_RULE], "outbound": [RULE], **POLICIES})
        assert api.put(path(row, "/rules"), api.get(path(row, "/rules")).json()).status_code == 200
        assert actions() == []

    def test_with_wrong_rules_changes_nothing(self, api, world):
        row = firewall(world)
        refused = api.put(path(row, "/rules"), {"inbound": [RULE], "outbound": [{**RULE, "ports": "x"}]})
        assert errors(refused) == {"outbound[0].ports": "ports is not valid"}
        assert api.get(path(row, "/rules")).json()["inbound"] == []

    @pytest.mark.parametrize("lacking", ["protocol", "action", "addresses"])
    @pytest.mark.parametrize("direction", ["inbound", "outbound"])
    def test_by_rules_that_say_too_little(self, direction, lacking, api, world):
        row = firewall(world)
        rule = {name: value for name, value in RULE.items() if name != lacking}
        refused = api.put(path(row, "/rules"), {direction: [RULE, rule, {**RULE, lacking: None}]})
        assert errors(refused) == {
            f"{direction}[1].{lacking}": f"{lacking} is required",
            f"{direction}[2].{lacking}": f"{lacking} is required",
        }
        assert api.get(path(row, "/rules")).json()[direction] == []

    def test_counts_those_that_stay(self, api, world):
        row = firewall(world, rules={"inbound": [], "outbound": [RULE] * 20, **POLICIES})
        assert set(errors(api.put(path(row, "/rules"), {"inbound": [RULE] * 6}))) == {"inbound"}
        assert api.put(path(row, "/rules"), {"inbound": [RULE] * 6, "outbound": []}).status_code == 200


class TestChanging:
    def test_label_and_tags(self, api, world):
        row = firewall(world, label="web-1")
        put = api.put(path(row), {"label": "web-2", "tags": ["edge"], "status": "enabled", "rules": {}})
        assert (put.json()["label"], put.json()["tags"]) == ("web-2", ["edge"])
        assert api.get(path(row)).json() == put.json()
        assert actions() == ["firewall_update"]
        api.put(path(row), put.json())
        assert actions() == ["firewall_update"]

    def test_a_label_that_is_taken(self, api, world):
        row = firewall(world)
        firewall(world, label="web-1")
        assert set(errors(api.put(path(row), {"label": "web-1"}))) == {"label"}

    def test_off_and_on(self, api, world, instance):
        row = firewall(world, on=instance)
        for status, action in (("disabled", "firewall_disable"), ("enabled", "firewall_enable")):
            assert api.put(path(row), {"status": status}).json()["status"] == status
            assert actions()[-1] == action
            assert FirewallDevice.objects.get().enabled == (status == "enabled")
            api.put(path(row), {"status": status})
        assert actions() == ["firewall_disable", "firewall_enable"]

    @pytest.mark.parametrize("status", ["deleted", "on", ""])
    def test_to_no_status_that_there_is(self, status, api, world):
        assert set(errors(api.put(path(firewall(world)), {"status": status}))) == {"status"}

    def test_on_where_another_one_is(self, api, world, instance):
        second = firewall(world, on=instance, status="disabled")
        first = firewall(world, on=instance)
        refused = api.put(path(second), {"status": "enabled", "label": "another"})
        assert errors(refused) == {"status": "A compute with this firewall has another enabled firewall already."}
        assert api.get(path(second)).json()["label"] != "another"
        assert api.put(path(first), {"status": "disabled"}).status_code == 200
        assert api.put(path(second), {"status": "enabled"}).status_code == 200


class TestDeleting:
    def test_takes_all_of_it(self, api, world, instance, restricted):
        made = api.post(FIREWALLS, body(tags=["edge"], devices={"computes": [instance.pk]})).json()
        row = Firewall.objects.get(pk=made["id"])
        GrantFactory(user=restricted, entity_type="firewall", entity_id=row.pk)
        assert api.delete(path(row)).json() == {}
        assert api.get(path(row)).status_code == 404
        assert not Grant.objects.filter(entity_type="firewall").exists()
        assert not Tagging.objects.exists()
        assert not FirewallDevice.objects.exists()
        assert actions()[-1] == "firewall_delete"
        assert PacketFilter.objects.get().wanted == 3, "that of its mail ports was the first"

    def test_again_is_not_found(self, api, world):
        row = firewall(world)
        api.delete(path(row))
        assert api.delete(path(row)).status_code == 404


class TestDevices:
    def test_how_one_looks(self, api, world, instance):
        row = firewall(world)
        made = api.post(path(row, "/devices"), {"id": instance.pk, "type": "compute"}).json()
        assert made["entity"] == {
            "id": instance.pk,
            "type": "compute",
            "label": "addressed",
            "url": f"/v4/compute/instances/{instance.pk}",
        }
        assert api.get(path(row, f"/devices/{made['id']}")).json() == made
        assert api.get(path(row, "/devices")).json()["data"] == [made]
        event = Event.objects.get()
        assert (event.action, event.status) == ("firewall_device_add", "notification")
        assert (event.entity_type, event.entity_id) == ("firewall", row.pk)
        assert (event.secondary_type, event.secondary_id) == ("compute", str(instance.pk))

    def test_an_existing_device_is_answered_again_and_changes_nothing(self, api, world, instance):
        row = firewall(world)
        asked = {"id": instance.pk, "type": "compute"}
        made = api.post(path(row, "/devices"), asked)
        before = actions(), list(PacketFilter.objects.values())
        again = api.post(path(row, "/devices"), asked)
        assert (again.status_code, again.json()) == (200, made.json())
        assert (actions(), list(PacketFilter.objects.values())) == before

    def test_a_device_is_removed(self, api, world, instance):
        row = firewall(world, on=instance)
        device = FirewallDevice.objects.get()
        assert api.delete(path(row, f"/devices/{device.pk}")).json() == {}
        assert api.get(path(row, f"/devices/{device.pk}")).status_code == 404
        assert api.delete(path(row, f"/devices/{device.pk}")).status_code == 404
        assert actions() == ["firewall_device_remove"]
        assert api.get(f"/v4/compute/instances/{instance.pk}/firewalls").json()["data"] == []

    def test_one_of_another_firewall_is_not_found(self, api, world, instance):
        firewall(world, on=instance)
        device = FirewallDevice.objects.get()
        other = path(firewall(world), f"/devices/{device.pk}")
        assert api.get(other).status_code == api.delete(other).status_code == 404

    def test_errors_of_devices_name_their_fields(self, api, world, instance):
        row = firewall(world, on=instance)
        asked = path(row, "/devices")
        assert set(errors(api.post(asked, {}))) == {"id", "type"}
        assert set(errors(api.post(asked, {"id": 999999, "type": "nodebalancer"}))) == {"type", "id"}
        assert errors(api.post(asked, {"id": 999999, "type": "compute"})) == {"id": "id is not valid"}
        other = api.post(path(firewall(world), "/devices"), {"id": instance.pk, "type": "compute"})
        assert errors(other) == {"id": "The compute has an enabled firewall already."}
        disabled = firewall(world, status="disabled")
        assert api.post(path(disabled, "/devices"), {"id": instance.pk, "type": "compute"}).status_code == 200

    def test_an_instance_that_is_about_to_go_is_busy(self, api, world, instance):
        Instance.objects.update(status="deleting")
        refused = api.post(path(firewall(world), "/devices"), {"id": instance.pk, "type": "compute"})
        assert errors(refused) == {None: "Compute busy."}

    def test_they_are_gone_with_the_instance(self, api, world, instance):
        row = firewall(world, on=instance)
        key = str(instance.pk)
        remove(instance)
        assert api.get(path(row, "/devices")).json()["data"] == []
        event = Event.objects.get(action="firewall_device_remove")
        assert (event.entity_id, event.secondary_id, event.username) == (row.pk, key, "")


class TestGrants:
    def grant(self, restricted, row, level: str) -> None:
        kind = "firewall" if isinstance(row, Firewall) else "compute"
        GrantFactory(user=restricted, entity_type=kind, entity_id=row.pk, permissions=level)

    def test_the_creator_of_a_firewall_may_change_it(self, client_for, world):
        user = GlobalGrantsFactory(user__account=world.account, add_firewalls=True).user
        theirs = client_for(user)
        made = theirs.post(FIREWALLS, body()).json()
        assert theirs.put(f"{FIREWALLS}/{made['id']}", {"label": "another"}).status_code == 200

    def test_tags_are_for_the_unrestricted(self, client_for, world, restricted):
        user = GlobalGrantsFactory(user__account=world.account, add_firewalls=True).user
        assert client_for(user).post(FIREWALLS, body(tags=["edge"])).status_code == 403
        row = firewall(world)
        self.grant(restricted, row, "read_write")
        assert client_for(restricted).put(path(row), {"tags": ["edge"]}).status_code == 403
        assert client_for(restricted).put(path(row), {"tags": []}).status_code == 200

    def test_an_instance_needs_one_too(self, client_for, world, instance, restricted):
        """The user needs a grant on the instance to attach it to a firewall and to detach it."""
        row, theirs = firewall(world), client_for(restricted)
        asked = {"id": instance.pk, "type": "compute"}
        self.grant(restricted, row, "read_write")
        assert set(errors(theirs.post(path(row, "/devices"), asked))) == {"id"}
        self.grant(restricted, instance, "read_only")
        assert theirs.post(path(row, "/devices"), asked).status_code == 403
        Grant.objects.filter(entity_type="compute").update(permissions="read_write")
        device = theirs.post(path(row, "/devices"), asked).json()
        Grant.objects.filter(entity_type="compute").update(permissions="read_only")
        assert theirs.delete(path(row, f"/devices/{device['id']}")).status_code == 403
        Grant.objects.filter(entity_type="compute").delete()
        assert theirs.get(path(row, "/devices")).json()["data"] == []
        assert theirs.delete(path(row, f"/devices/{device['id']}")).status_code == 404

    def test_a_create_needs_read_write_on_its_devices(self, client_for, world, instance):
        user = GlobalGrantsFactory(user__account=world.account, add_firewalls=True).user
        asked = body(devices={"computes": [instance.pk]})
        assert set(errors(client_for(user).post(FIREWALLS, asked))) == {"devices.computes[0]"}
        self.grant(user, instance, "read_only")
        assert client_for(user).post(FIREWALLS, asked).status_code == 403
        Grant.objects.filter(entity_type="compute").update(permissions="read_write")
        assert client_for(user).post(FIREWALLS, asked).status_code == 200


class TestTheList:
    def test_has_those_of_the_account(self, api, world, stranger, restricted, client_for):
        mine = [firewall(world), firewall(world)]
        FirewallFactory(account=stranger.account)
        assert [each["id"] for each in api.get(FIREWALLS).json()["data"]] == [row.pk for row in mine]
        GrantFactory(user=restricted, entity_type="firewall", entity_id=mine[1].pk)
        assert [each["id"] for each in client_for(restricted).get(FIREWALLS).json()["data"]] == [mine[1].pk]

    def test_filters_by_the_fields_of_the_contract(self, api, world):
        row = firewall(world, label="web-1")
        firewall(world, label="db-1")
        assert [each["id"] for each in api.get(FIREWALLS, x_filter={"label": "web-1"}).json()["data"]] == [row.pk]
        for field in ("status", "rules"):
            assert set(errors(api.get(FIREWALLS, x_filter={field: "x"}))) == {"X-Filter"}
