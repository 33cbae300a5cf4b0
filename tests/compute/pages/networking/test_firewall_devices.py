"""The pages that attach firewalls to an instance and detach them."""

import pytest

from compute.models import Firewall, Instance
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, send, text
from tests.factories import FirewallFactory, GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def test_a_firewall_is_detached_and_another_is_attached(browser, account, instance):
    send(browser, "instance-firewall-remove", instance, instance.firewall_devices.get().pk)
    shown = text(browser.get(address_of("instance-network", instance)))
    assert "No firewall is attached to this instance." in shown
    other = FirewallFactory(account=account, label="closed")
    answer = send(browser, "instance-firewall-add", instance, firewall=other.pk)
    assert f"The firewall closed was attached to {instance}." in text(answer)
    assert instance.firewall_devices.get().firewall == other
    assert events(instance) == ["firewall_device_remove", "firewall_device_add"]


def test_two_enabled_ones_are_too_many(browser, account, instance):
    other = FirewallFactory(account=account)
    answer = send(browser, "instance-firewall-add", instance, firewall=other.pk)
    assert problems(answer, "firewall") == "The instance has an enabled firewall already."


@pytest.mark.parametrize("given", ["", "77777", "x"])
def test_one_has_to_be_chosen(browser, instance, given):
    answer = send(browser, "instance-firewall-add", instance, firewall=given)
    assert problems(answer, "firewall") == "Choose a firewall."


def test_only_firewalls_that_the_user_may_change_are_offered(account, instance):
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
    mine = FirewallFactory(account=account, label="mine", status=Firewall.Status.DISABLED)
    FirewallFactory(account=account, label="unseen")
    GrantFactory(user=user, entity_type="firewall", entity_id=mine.pk, permissions="read_write")
    shown = text(signed_in(user).get(address_of("instance-firewall-add", instance)))
    assert "mine, disabled" in shown
    assert "unseen" not in shown
