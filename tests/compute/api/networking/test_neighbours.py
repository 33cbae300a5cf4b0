"""An instance's lists of its volumes, firewalls and load balancers."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.models import Instance
from tests.client import errors
from tests.factories import (
    FirewallFactory,
    GrantFactory,
    NodeBalancerFactory,
    NodeBalancerNodeFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

TIME = "2024-05-06T07:08:09"


def volume(instance: Instance, **fields):
    return VolumeFactory(account=instance.account, region=instance.region, instance=instance, **fields)


def firewall(instance: Instance, **fields):
    """Create a firewall on the instance: enabled if it is the instance's first, else disabled."""
    fields.setdefault("status", "disabled" if instance.firewall_devices.exists() else "enabled")
    return FirewallFactory(account=instance.account, on=instance, **fields)


def nodebalancer(instance: Instance, **fields):
    return NodeBalancerFactory(account=instance.account, region=instance.region, to=instance, **fields)


KINDS = {"volumes": volume, "firewalls": firewall, "nodebalancers": nodebalancer}
each_kind = pytest.mark.parametrize("kind", KINDS)


def listed(api, instance: Instance, kind: str, **kwargs):
    return api.get(f"/v4/compute/instances/{instance.pk}/{kind}", **kwargs)


def dated(row) -> dict:
    type(row).objects.filter(pk=row.pk).update(created=TIME + "+00:00", updated=TIME + "+00:00")
    return {"id": row.pk, "label": row.label, "created": TIME, "updated": TIME}


class TestTheirLooks:
    def test_a_volume(self, api, instance):
        row = volume(instance, label="data", tags=["a", "b"])
        expected = {
            **dated(row),
            "filesystem_path": "/dev/disk/by-id/scsi-0Skerry_Volume_data",
            "status": "active",
            "size": 20,
            "region": "us-test",
            "compute_id": instance.pk,
            "compute_label": "addressed",
            "tags": ["a", "b"],
            "hardware_type": "nvme",
        }
        assert listed(api, instance, "volumes").json()["data"] == [expected]

    def test_a_firewall(self, api, instance):
        rule = {
            "protocol": "TCP",
            "ports": "22,8000-9000",
            "addresses": {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]},
            "action": "ACCEPT",
            "label": "ssh",
            "description": "from everywhere",
        }
        rules = {"inbound": [rule], "outbound": None, "inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
        row = firewall(instance, rules=rules)
        expected = {**dated(row), "status": "enabled", "rules": rules, "tags": []}
        assert listed(api, instance, "firewalls").json()["data"] == [expected]

    def test_a_load_balancer(self, api, instance):
        row = nodebalancer(instance, ipv4="203.0.113.7", ipv6="2001:db8::7", hostname="nb.example.com")
        expected = {
            **dated(row),
            "region": "us-test",
            "hostname": "nb.example.com",
            "ipv4": "203.0.113.7",
            "ipv6": "2001:db8::7",
            "client_conn_throttle": 0,
            "transfer": {"total": None, "out": None, "in": None},
            "tags": [],
        }
        assert listed(api, instance, "nodebalancers").json()["data"] == [expected]


class TestTheLists:
    @each_kind
    def test_have_objects_of_this_instance_and_account(self, kind, api, instance, world, stranger):
        mine = KINDS[kind](instance)
        other = world.create(label="other")
        KINDS[kind](other)
        assert [each["id"] for each in listed(api, instance, kind).json()["data"]] == [mine.pk]
        type(mine).objects.filter(pk=mine.pk).update(account=stranger.account)
        assert listed(api, instance, kind).json()["data"] == []

    @each_kind
    def test_of_an_unknown_instance_are_404(self, kind, api, client_for, stranger, instance):
        KINDS[kind](instance)
        assert listed(client_for(stranger), instance, kind).status_code == 404
        assert api.get(f"/v4/compute/instances/99999/{kind}").status_code == 404

    @each_kind
    def test_need_grants_on_the_instance_and_the_object(self, kind, client_for, restricted, instance):
        theirs = client_for(restricted)
        row = KINDS[kind](instance)
        GrantFactory(user=restricted, entity_type=kind.removesuffix("s"), entity_id=row.pk)
        assert listed(theirs, instance, kind).status_code == 404
        GrantFactory(user=restricted, entity_id=instance.pk)
        KINDS[kind](instance)
        assert [each["id"] for each in listed(theirs, instance, kind).json()["data"]] == [row.pk]

    @each_kind
    def test_need_the_scope_of_computes(self, kind, client_for, owner, instance):
        assert listed(client_for(owner, "computes:read_only"), instance, kind).status_code == 200
        scopes = "volumes:read_write firewall:read_write nodebalancers:read_write"
        assert listed(client_for(owner, scopes), instance, kind).status_code == 401

    @each_kind
    def test_cost_two_queries_however_long(self, kind, api, instance):
        for _ in range(3):
            KINDS[kind](instance)
            listed(api, instance, kind)
            with CaptureQueriesContext(connection) as queries:
                listed(api, instance, kind)
            assert len(queries) == 2

    @each_kind
    def test_filter_by_the_fields_of_the_contract(self, kind, api, instance):
        rows = [KINDS[kind](instance, tags=["red"]), KINDS[kind](instance, tags=["blue"])]
        for wanted in ({"tags": "red"}, {"label": rows[0].label}, {"label": {"+neq": rows[1].label}}):
            assert [each["id"] for each in listed(api, instance, kind, x_filter=wanted).json()["data"]] == [
                rows[0].pk
            ]
        refused = listed(api, instance, kind, x_filter={"status": "active"})
        assert errors(refused) == {"X-Filter": "Cannot filter on status"}

    def test_a_balancer_is_found_by_its_address_which_has_to_be_one(self, api, instance):
        row = nodebalancer(instance, ipv4="203.0.113.7")
        nodebalancer(instance, ipv4="203.0.113.8")
        for wanted in ("203.0.113.7", {"+lt": "203.0.113.8"}, {"+neq": "203.0.113.8"}):
            found = listed(api, instance, "nodebalancers", x_filter={"ipv4": wanted}).json()["data"]
            assert [each["id"] for each in found] == [row.pk]
        refused = listed(api, instance, "nodebalancers", x_filter={"ipv4": "somewhere"})
        assert errors(refused) == {"X-Filter": "ipv4 is not valid"}

    def test_a_balancer_with_two_nodes_is_there_once(self, api, instance):
        row = nodebalancer(instance)
        NodeBalancerNodeFactory(config=row.configs.get(), instance=instance)
        assert listed(api, instance, "nodebalancers").json()["results"] == 1


@each_kind
def test_grants_can_be_made_out_to_them(kind, client_for, restricted, instance):
    row = KINDS[kind](instance)
    name = kind.removesuffix("s")
    GrantFactory(user=restricted, entity_type=name, entity_id=row.pk)
    assert client_for(restricted).get("/v4/profile/grants").json()[name] == [
        {"id": row.pk, "label": row.label, "permissions": "read_only"}
    ]
