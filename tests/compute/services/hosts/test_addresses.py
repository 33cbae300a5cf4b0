"""Hosts are servers of the platform: no check or import of a customer may connect to one."""

import ipaddress

import pytest
from django.apps import apps

from compute.models import Host
from compute.services.hosts.addresses import reached_at
from config.egress import guard
from tests.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


def test_other_machines_are_reached_at_their_locations_and_between_hosts():
    world = make_world()
    assert reached_at() == [], "simulated ones are nowhere"
    first, *_ = Host.objects.filter(region=world.region)
    Host.objects.filter(pk=first.pk).update(location="ssh://root@hv1.internal:2222/srv/vms", underlay="10.77.0.1")
    assert set(reached_at()) == {"hv1.internal", "10.77.0.1"}
    for location, at in {
        "ssh://root@[fd00:77::1]/srv": ["fd00:77::1"],
        "/var/lib/skerry": [],
        "ssh://root@[fd00/srv": [],
    }.items():
        Host.objects.filter(pk=first.pk).update(location=location, underlay=None)
        assert reached_at() == at


def test_no_service_and_no_name_server_is_a_host(monkeypatch):
    world = make_world()
    monkeypatch.setattr(guard, "_plane", {})
    Host.objects.filter(region=world.region).update(location="ssh://root@203.0.113.7/srv", underlay="10.77.0.1")
    assert not guard.is_forbidden(ipaddress.ip_address("203.0.113.7"))
    monkeypatch.setattr(guard, "_plane", {})
    guard.add_source(reached_at)
    try:
        for address, private in (("203.0.113.7", False), ("10.77.0.1", True), ("::ffff:10.77.0.1", True)):
            assert guard.refusal([ipaddress.ip_address(address)], private) == guard.FORBIDDEN
        assert guard.refusal([ipaddress.ip_address("10.77.0.2")], private=True) is None
    finally:
        guard.sources.clear()
    Host.objects.all().delete()
    assert guard.is_forbidden(ipaddress.ip_address("203.0.113.7")), "what was known once stays refused"


def test_the_app_has_its_hosts_refused():
    try:
        apps.get_app_config("compute").ready()
        assert guard.sources == [reached_at]
    finally:
        guard.sources.clear()
