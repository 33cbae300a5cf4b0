"""Firewalls for staff: whether hosts have them, and disabling one that locks its owner out."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.urls import reverse

from accounts.models import Event
from compute.admin.networking.firewalls import LATE_AFTER
from compute.models import Firewall, PacketFilter
from compute.services.networking.firewalls import firewalls
from compute.worker.networking import packet_filters
from tests.compute.memory_driver import failing_at
from tests.config.admin.pages import do, list_address, messages_of, page_address

pytestmark = pytest.mark.django_db

RULE = {"protocol": "TCP", "ports": "22", "action": "ACCEPT", "addresses": {"ipv4": ["0.0.0.0/0"]}}
RULES = {"inbound": [{**RULE, "label": "<b>ssh</b>"}], "inbound_policy": "DROP", "outbound_policy": "ACCEPT"}


@pytest.fixture
def firewall(world, running) -> Firewall:
    return firewalls.create(world.actor, firewalls.FirewallSpec("web", RULES, [running.pk], ["edge"]))


def text_of(admin, obj) -> str:
    return admin.get(page_address(obj)).content.decode()


def test_the_page_shows_devices_and_the_state_on_hosts(admin, firewall, running, driver):
    assert "being updated" in text_of(admin, firewall)
    packet_filters.apply(running.pk, driver)
    text = text_of(admin, firewall)
    assert "up to date" in text
    assert page_address(running) in text
    assert "<b>ssh" not in text
    assert page_address(firewall) in text_of(admin, running)


def test_a_packet_filter_shows_its_rules(admin, firewall, running, driver):
    text = text_of(admin, PacketFilter.objects.get())
    assert "inbound: ACCEPT TCP 22 from 0.0.0.0/0" in text
    assert "inbound: DROP everything else" in text


def test_staff_turn_one_off_and_on(admin, firewall, running):
    assert "remove the rules" in messages_of(do(admin, firewall, "disable"))
    firewall.refresh_from_db()
    assert firewall.status == "disabled"
    event = Event.objects.latest("pk")
    assert (event.action, event.username) == ("firewall_disable", "staff")
    assert "get the rules in a moment" in messages_of(do(admin, firewall, "enable"))
    assert LogEntry.objects.count() == 2


def test_staff_see_why_a_firewall_is_not_enabled(admin, world, firewall, running):
    other = Firewall.objects.create(account=world.account, label="other", status="disabled")
    other.devices.create(instance=running)
    assert "has another enabled firewall already" in messages_of(do(admin, other, "enable"))


def test_a_packet_filter_can_be_sent_again(admin, firewall, running, driver):
    packet_filters.apply(running.pk, driver)
    assert "gets the rules in a moment" in messages_of(do(admin, PacketFilter.objects.get(), "tell"))
    packet_filters.apply(running.pk, driver)
    assert driver.calls.count("set_firewall") == 2


def test_a_host_that_is_behind_for_long_needs_attention(admin, firewall, running, driver, settings):
    settings.JOB_BACKOFF = 0
    driver.before = failing_at(len(driver.calls), times=1)
    packet_filters.apply(running.pk, driver)
    index = reverse("admin:index")
    line = "Instances whose firewall rules are late on the host: 1"
    assert line not in admin.get(index).content.decode()
    PacketFilter.objects.update(changed=Now() - 2 * LATE_AFTER)
    assert line in admin.get(index).content.decode()

    def found(chosen: str) -> int:
        return len(admin.get(list_address(PacketFilter), {"host": chosen}).context["cl"].result_list)

    assert [found(chosen) for chosen in ("behind", "failing", "sent", "")] == [1, 1, 0, 1]
    assert "The host does not answer." in admin.get(list_address(PacketFilter)).content.decode()
    packet_filters.apply(running.pk, driver)
    assert line not in admin.get(index).content.decode()
    assert [found(chosen) for chosen in ("behind", "failing", "sent")] == [0, 0, 1]
